import Foundation

/// Certificates made with openssl: an authority, and what it signed or did not.
package final class TestCertificates: Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case good, expired, notYetValid, selfSigned, wrongHost
        /// The authority signed the signer of this one, whose certificate no server sends.
        case withoutIntermediate
    }

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
        try folder.write("index", "")
        try folder.write(
            "ca.cnf",
            """
            [ca]
            default_ca = tests
            [tests]
            database = index
            new_certs_dir = .
            default_md = sha256
            rand_serial = yes
            policy = names
            [names]
            commonName = supplied

            """)
        try await make("intermediate", "basicConstraints=critical,CA:TRUE")
        for kind in Kind.allCases {
            let name = kind == .wrongHost ? "DNS:elsewhere.test" : "DNS:localhost,IP:127.0.0.1"
            let signer = kind == .withoutIntermediate ? "intermediate" : kind == .selfSigned ? nil : "ca"
            let years = kind == .expired ? 2020..<2021 : kind == .notYetValid ? 2090..<2091 : 2020..<2091
            try await make("\(kind)", "subjectAltName=\(name)", signer: signer, years)
        }
    }

    package func identity(_ kind: Kind) -> Identity {
        Identity(certificate: folder.path("\(kind).pem").path, key: folder.path("\(kind).key").path)
    }

    private func make(
        _ name: String, _ fields: String, signer: String? = "ca", _ years: Range<Int> = 2020..<2091
    ) async throws {
        try folder.write("\(name).ext", fields + "\n")
        try await openssl(
            "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=\(name) "
                + "-keyout \(name).key -out \(name).csr")
        let signing = signer.map { "-cert \($0).pem -keyfile \($0).key" } ?? "-selfsign -keyfile \(name).key"
        try await openssl(
            "ca -batch -notext -config ca.cnf \(signing) -startdate \(years.lowerBound)0101000000Z "
                + "-enddate \(years.upperBound)0101000000Z -extfile \(name).ext -in \(name).csr -out \(name).pem")
    }

    private func openssl(_ arguments: String) async throws {
        let words = arguments.split(separator: " ").map(String.init)
        let result = try await RunningCommand(
            "openssl", words, environment: Tool.environment, directory: folder.url
        ).wait()
        guard result.status == 0 else { throw RunningCommand.Failure(description: result.description) }
    }
}
