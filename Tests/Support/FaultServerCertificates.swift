import Foundation

/// Certificates made with openssl for one test: an authority, and what it signed or did not.
package final class TestCertificates: Sendable {
    package enum Kind: String, Sendable, CaseIterable { case good, expired, selfSigned, wrongHost }

    private let folder: TemporaryDirectory

    package var directory: URL { folder.url }

    /// The PEM file of the authority that signed all but `.selfSigned`.
    package var authority: String { directory.appending(path: "ca.pem").path }

    package init() throws {
        folder = try TemporaryDirectory()
        try openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=kf-test-authority "
                + "-keyout ca.key -out ca.pem")
        for kind in Kind.allCases { try make(kind) }
    }

    package func certificate(_ kind: Kind) -> String { directory.appending(path: "\(kind).pem").path }

    package func key(_ kind: Kind) -> String { directory.appending(path: "\(kind).key").path }

    private func make(_ kind: Kind) throws {
        let names = kind == .wrongHost ? "DNS:elsewhere.test" : "DNS:localhost,IP:127.0.0.1"
        try "subjectAltName=\(names)\n".write(
            to: directory.appending(path: "\(kind).ext"), atomically: true, encoding: .utf8)
        try openssl(
            "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=\(kind) "
                + "-keyout \(kind).key -out \(kind).csr")
        let days = kind == .expired ? "-1" : "2"
        let signer = kind == .selfSigned ? "-signkey selfSigned.key" : "-CA ca.pem -CAkey ca.key -CAcreateserial"
        try openssl("x509 -req -in \(kind).csr \(signer) -days \(days) -extfile \(kind).ext -out \(kind).pem")
    }

    private func openssl(_ arguments: String) throws {
        try ChildProcess.run("cd \(directory.path) && exec openssl \(arguments)")
    }
}
