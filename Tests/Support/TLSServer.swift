import Foundation

/// A TLS server on a free loopback port that fails each connection in the same way (see `tls_server.py`).
package final class TLSServer: Sendable {
    private let process: ServerProcess
    private let state: TemporaryDirectory

    /// `fault` is a word of `tls_server.py`.
    package init(
        _ fault: String, body: Data = Data(), _ kind: TestCertificates.Kind = .good, of certificates: TestCertificates
    ) throws {
        state = try TemporaryDirectory()
        try state.write("body", body)
        try state.write("connections.log", Data())
        let identity = certificates.identity(kind)
        process = try ServerProcess(
            "/usr/bin/python3", "tls_server.py",
            [
                fault, identity.certificate, identity.key, certificates.authority, state.path("connections.log").path,
                state.path("body").path,
            ])
    }

    /// The address without a slash at its end.
    package var address: String { process.address }

    package func url(_ path: String) -> String { "\(address)/\(path)" }

    /// The number of connections that the server has accepted. It counts before it reads.
    package func connections() throws -> Int { try LoggedRequest.all(in: state.path("connections.log")).count }
}
