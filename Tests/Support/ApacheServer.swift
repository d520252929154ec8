import Foundation

/// A private Apache with mod_dav over an empty tree, on a free loopback port (see `serve_apache.sh`).
///
/// Unlike nginx it refuses a PUT without its parent (409) and one with `If-None-Match: *` on an existing name (412).
package final class ApacheServer: Sendable {
    package struct User: Sendable {
        package let name: String
        package let password: String

        package init(_ name: String, _ password: String) {
            self.name = name
            self.password = password
        }
    }

    private let process: ServerProcess
    private let state: TemporaryDirectory

    package static var isInstalled: Bool { Tool.isInstalled("apache2") }

    /// `configuration` goes into Apache's main configuration; with a user, each request needs Basic authentication.
    package init(user: User? = nil, configuration: [String] = []) throws {
        state = try TemporaryDirectory()
        try state.write("server.conf", configuration.joined(separator: "\n") + "\n")
        process = try ServerProcess(
            "/bin/bash", "serve_apache.sh", [state.url.path] + (user.map { [$0.name, $0.password] } ?? []))
    }

    package var address: String { process.address }
    /// The directory of the stored tree.
    package var root: URL { state.path("files") }
    package func url(_ path: String) -> String { "\(address)/\(path)" }
    package func stop() async throws { try await process.stop() }

    /// Every request so far. A worker logs after it has sent; once no other worker is busy, each has logged.
    package func requests() async throws -> [LoggedRequest] {
        for _ in 0..<1000 {
            let said = try await Tool.run("curl", "-sS", "-m", "10", address + "/.status?auto")
            guard said.status == 0 else { throw RunningCommand.Failure(description: "Apache is gone: \(said)") }
            let lines = said.outputLines
            if lines.contains("BusyWorkers: 1"), lines.contains("ConnsAsyncWriting: 0") {
                return try LoggedRequest.all(in: state.path("access.log")).filter { !$0.path.hasPrefix("/.status") }
            }
            try await Task.sleep(for: .milliseconds(2))
        }
        throw RunningCommand.Failure(description: "Apache stays busy")
    }
}
