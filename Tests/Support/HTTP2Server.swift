import Foundation

/// An HTTP/2 server on a free loopback port that ends streams and connections as it is told (see `h2_server.py`).
package final class HTTP2Server: Sendable {
    /// The treatment of one request.
    package enum Step: String, Sendable {
        /// The answer 200 with the body.
        case serve
        /// RST_STREAM with REFUSED_STREAM.
        case refuse
        /// RST_STREAM with HTTP_1_1_REQUIRED.
        case demandHTTP1 = "http1"
        /// GOAWAY before the stream was processed, then the end of the connection.
        case goAway = "goaway"
        /// The end of the connection without a frame.
        case close
    }

    private let process: ServerProcess
    private let state: TemporaryDirectory

    /// Each request takes the next step; the last one repeats.
    package init(_ steps: [Step], body: Data = Data(), identity: TestCertificates.Identity) throws {
        state = try TemporaryDirectory()
        try state.write("body", body)
        try state.write("access.log", Data())
        process = try ServerProcess(
            "/usr/bin/python3", "h2_server.py",
            [identity.certificate, identity.key, state.path("access.log").path, state.path("body").path]
                + steps.map(\.rawValue))
    }

    package func url(_ path: String) -> String { "\(process.address)/\(path)" }

    /// The number of requests that have reached the server. The server counts before it answers.
    package func requests() throws -> Int { try LoggedRequest.all(in: state.path("access.log")).count }
}
