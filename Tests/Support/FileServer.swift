import Foundation

/// A private nginx over a directory, on a free loopback port, with an access log that tests can read.
///
/// It stops when the last reference goes, and also when the test process is killed (see `serve.sh`).
package final class FileServer: Sendable {
    /// One line of the access log.
    package struct Request: Sendable, Equatable, CustomStringConvertible {
        package let method: String
        /// As it was sent, with its query.
        package let path: String
        package let status: Int
        package let ifNoneMatch: String?
        package let ifModifiedSince: String?
        package let range: String?
        package let userAgent: String?

        package var description: String { "\(method) \(path) \(status)" }
    }

    package let root: URL
    /// The port of the same files over TLS with HTTP/2; 0 without an identity.
    package let securePort: Int
    private let process: ServerProcess
    private let state: TemporaryDirectory
    private let files: TemporaryDirectory?

    package static var isInstalled: Bool { Tool.isInstalled("nginx") }

    /// The address without a slash at its end, `http://127.0.0.1:PORT`.
    package var address: String { process.address }

    /// Serves what is in a directory of the test's own, which lives as long as the server.
    package convenience init(
        files: TemporaryDirectory, configuration: [String] = [], identity: TestCertificates.Identity? = nil
    ) throws {
        try self.init(root: files.url, configuration: configuration, identity: identity, files: files)
    }

    /// `configuration` goes into nginx's server block as it is; see `FileServer+Locations.swift` for ready pieces.
    package convenience init(
        root: URL = FixturesDirectory.url, configuration: [String] = [], identity: TestCertificates.Identity? = nil
    ) throws {
        try self.init(root: root, configuration: configuration, identity: identity, files: nil)
    }

    private init(
        root: URL, configuration: [String], identity: TestCertificates.Identity?, files: TemporaryDirectory?
    ) throws {
        self.root = root
        self.files = files
        state = try TemporaryDirectory()
        var lines = configuration
        securePort = try identity == nil ? 0 : FaultSocket.freePort()
        if let identity {
            lines += [
                "listen 127.0.0.1:\(securePort) ssl http2 backlog=1024;", "ssl_certificate \(identity.certificate);",
                "ssl_certificate_key \(identity.key);",
            ]
        }
        try state.write("server.conf", lines.joined(separator: "\n") + "\n")
        process = try ServerProcess("/bin/bash", "serve.sh", [root.path, state.url.path])
    }

    /// Stops nginx and waits until it is gone: from then on the port refuses connections.
    package func stop() async throws { try await process.stop() }

    package func url(_ path: String) -> String { "\(address)/\(path)" }

    package func secureURL(_ path: String, host: String = "127.0.0.1") -> String {
        "https://\(host):\(securePort)/\(path)"
    }

    /// Every request so far, in the order in which nginx finished them.
    ///
    /// nginx logs after it has sent, so the log may be behind what a client has seen. A request of our own that has
    /// arrived in the log shows that all before it have: one worker does all the work, in turn.
    package func requests() async throws -> [Request] {
        let marker = "/.test-marker-\(UUID().uuidString)"
        let answer = try await Tool.run("curl", "-s", "-m", "10", "-o", "/dev/null", address + marker)
        guard answer.status == 0 else { throw RunningCommand.Failure(description: "nginx is gone: \(answer)") }
        for _ in 0..<1000 {
            let log = try String(contentsOf: state.path("access.log"), encoding: .utf8)
            if log.contains(marker) {
                return log.split(separator: "\n").compactMap(Self.parse).filter { !$0.path.hasPrefix("/.test-marker") }
            }
            try await Task.sleep(for: .milliseconds(2))
        }
        throw RunningCommand.Failure(description: "nginx does not log")
    }

    private static func parse(_ line: Substring) -> Request? {
        let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map { $0 == "-" ? nil : String($0) }
        guard fields.count == 8, let method = fields[0], let path = fields[1],
            let status = fields[2].flatMap({ Int($0) })
        else { return nil }
        return Request(
            method: method, path: path, status: status, ifNoneMatch: fields[4], ifModifiedSince: fields[5],
            range: fields[6], userAgent: fields[7])
    }
}
