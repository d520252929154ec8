import Foundation

/// Certificates made with openssl: an authority, and what it signed or did not.
package final class TestCertificates: Sendable {
    package enum Kind: String, Sendable, CaseIterable { case good, expired, selfSigned, wrongHost }

    /// The paths of two PEM files.
    package struct Identity: Sendable {
        package let certificate: String
        package let key: String
    }

    private let folder: TemporaryDirectory

    /// The PEM file of the authority that signed all but `.selfSigned`.
    package var authority: String { folder.path("ca.pem").path }

    private static let common = Task { try await TestCertificates() }

    /// The certificates that all tests of a run share: making them takes a dozen processes.
    package static var shared: TestCertificates { get async throws { try await common.value } }

    /// OpenSSL finds an authority by its name, so two that meet in one test need two.
    package init(authority name: String = "kf-test-authority") async throws {
        folder = try TemporaryDirectory()
        try await openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=\(name) "
                + "-keyout ca.key -out ca.pem")
        for kind in Kind.allCases { try await make(kind) }
    }

    package func identity(_ kind: Kind) -> Identity {
        Identity(certificate: folder.path("\(kind).pem").path, key: folder.path("\(kind).key").path)
    }

    private func make(_ kind: Kind) async throws {
        let names = kind == .wrongHost ? "DNS:elsewhere.test" : "DNS:localhost,IP:127.0.0.1"
        try folder.write("\(kind).ext", "subjectAltName=\(names)\n")
        try await openssl(
            "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=\(kind) "
                + "-keyout \(kind).key -out \(kind).csr")
        let days = kind == .expired ? "-1" : "2"
        let signer = kind == .selfSigned ? "-signkey selfSigned.key" : "-CA ca.pem -CAkey ca.key -CAcreateserial"
        try await openssl("x509 -req -in \(kind).csr \(signer) -days \(days) -extfile \(kind).ext -out \(kind).pem")
    }

    private func openssl(_ arguments: String) async throws {
        let words = arguments.split(separator: " ").map(String.init)
        let result = try await RunningCommand(
            "openssl", words, environment: Tool.environment, directory: folder.url
        ).wait()
        guard result.status == 0 else { throw RunningCommand.Failure(description: result.description) }
    }
}
