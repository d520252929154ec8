import Foundation

/// A server that a program of `Tests/Support` starts. It prints its address, and lives until its standard input ends:
/// when the last reference goes, and also when the test process is killed.
final class ServerProcess: Sendable {
    /// The address without a slash at its end, `http://127.0.0.1:PORT`.
    let address: String
    private let process: RunningCommand

    /// `program` is the interpreter, `script` a file of `Tests/Support`.
    init(_ program: String, _ script: String, _ arguments: [String]) throws {
        process = try RunningCommand(
            program, [PackageRoot.url.appendingPathComponent("Tests/Support/\(script)").path] + arguments,
            environment: Tool.environment, input: .conversation)
        guard let address = process.readLine() else {
            throw RunningCommand.Failure(description: process.errorsSoFar)
        }
        self.address = address
    }

    /// What the server has written to standard error so far.
    var errors: String { process.errorsSoFar }

    /// Stops the server and waits until it is gone: from then on the port refuses connections.
    func stop() async throws {
        process.hangUp()
        _ = try await process.wait(timeout: .seconds(10))
    }
}

/// One line of a server's access log.
package struct LoggedRequest: Sendable, Equatable, CustomStringConvertible {
    package let method: String
    package let path: String
    package let status: Int

    package var description: String { "\(method) \(path) \(status)" }

    /// The requests of a log whose lines begin with method, path and status, parted by tabs.
    static func all(in log: URL) throws -> [LoggedRequest] {
        try String(contentsOf: log, encoding: .utf8).split(separator: "\n").compactMap { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
            guard fields.count >= 3, let status = Int(fields[2]) else { return nil }
            return LoggedRequest(method: String(fields[0]), path: String(fields[1]), status: status)
        }
    }
}
