import Foundation
import Support
import Synchronization
import Testing

extension KFCommand {
    /// A command that retries no request.
    static func withoutRetries() throws -> KFCommand { try KFCommand().with(["KF_RETRY": "0"]) }

    /// The command with more variables in its environment.
    func with(_ variables: [String: String]) -> KFCommand {
        var kf = self
        kf.environment.merge(variables) { $1 }
        return kf
    }

    /// Runs a script of bash in `work`, with the command in its PATH as `kf`.
    func script(
        _ text: String, _ options: String..., variables: [String: String] = [:]
    ) async throws -> CommandResult {
        for name in ["bin", "work"] {
            try FileManager.default.createDirectory(at: home.path(name), withIntermediateDirectories: true)
        }
        try FileManager.default.createSymbolicLink(at: home.path("bin/kf"), withDestinationURL: binary)
        let path = ["PATH": "\(home.path("bin").path):\(environment["PATH"] ?? "")"]
        return try await RunningCommand(
            "/bin/bash", options + ["-e", "-o", "pipefail", "-c", text],
            environment: environment.merging(path) { $1 }.merging(variables) { $1 }, directory: home.path("work")
        ).wait()
    }

    /// The command without these libraries: a loader that finds another file under a library's name takes no other.
    func lacking(_ libraries: String...) throws -> KFCommand {
        for name in libraries { try home.write("lib/\(name)", "not a library") }
        return with(["LD_LIBRARY_PATH": home.path("lib").path])
    }

    /// The command for other users, to whom the checkout may be closed: its home is open to them, and holds a copy of the
    /// binary.
    func openToAll() throws -> KFCommand {
        var open = self
        open.binary = home.path("kf")
        try Tool.makeExecutable(open.binary, from: binary)
        try #require(chmod(home.url.path, 0o777) == 0)
        return open
    }

    /// Runs the command as the last words of another program's arguments.
    func run(
        _ arguments: [String], under program: String, _ words: String..., input: Data = Data()
    ) async throws -> CommandResult {
        try await RunningCommand(
            program, words + [binary.path] + arguments, environment: environment, input: .data(input),
            directory: home.url
        ).wait()
    }

    /// Runs the command by another program with these words.
    func run(_ arguments: [String], under program: String, _ words: [String]) async throws -> CommandResult {
        try await RunningCommand(
            program, words + [binary.path] + arguments, environment: environment, directory: home.url
        ).wait()
    }

    /// Runs a script of bash in which `$1` is the command and `words` follow.
    func shell(_ script: String, _ words: String...) async throws -> CommandResult {
        try await RunningCommand(
            "/bin/bash", ["-c", script, "bash", binary.path] + words, environment: environment, directory: home.url
        ).wait()
    }

    /// Changes the index of the cache by SQL.
    func changeIndex(_ sql: String) async throws {
        let result = try await Tool.run("sqlite3", cacheDirectory.path + "/v1/index.sqlite", sql)
        try #require(result.status == 0, "\(result)")
    }

    /// The system calls of a successful command, as strace prints them with the path of each descriptor.
    func calls(_ names: String, of arguments: [String], input: String = "") async throws -> [Substring] {
        let log = home.path("trace")
        let result = try await run(
            arguments, under: "strace", "-f", "-y", "-e", "trace=\(names)", "-o", log.path,
            input: Data(input.utf8))
        try #require(result.status == 0, "\(result)")
        return try String(contentsOf: log, encoding: .utf8).split(separator: "\n")
    }

    func contents(_ name: String) throws -> Data { try Data(contentsOf: home.path(name)) }

    func text(_ name: String) throws -> String { try String(contentsOf: home.path(name), encoding: .utf8) }
}

extension FixturesDirectory {
    static func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}

extension FaultStep {
    /// A head of these lines and the bytes that follow it, in one step.
    static func raw(_ lines: [String], _ body: some Collection<UInt8>) -> FaultStep {
        .send(Array((lines + ["", ""]).joined(separator: "\r\n").utf8) + body)
    }

    /// A response whose body breaks off after `end` bytes.
    static func cut(
        _ body: [UInt8], at end: Int = 900_000, _ validators: String..., then last: FaultStep = .close
    ) -> [FaultStep] {
        [.raw(["HTTP/1.1 200 OK"] + validators + ["Content-Length: \(body.count)"], body[..<end]), last]
    }

    /// The partial response to a request for the rest of a body.
    static func rest(_ body: [UInt8], of request: FaultRequest, _ validators: String...) -> FaultStep {
        let start = request.start
        let headers = validators + ["Content-Range: bytes \(start)-\(body.count - 1)/\(body.count)"]
        return .reply("206 Partial Content", headers: headers, body: Array(body[start...]))
    }
}

extension FaultRequest {
    /// The first byte that the request's range asks for; 0 without one.
    var start: Int { Int(header("Range")?.dropFirst("bytes=".count).dropLast() ?? "") ?? 0 }
}

extension FaultServer {
    /// Answers the first request with these steps, and the others by the script.
    static func answering(
        first: [FaultStep], then script: @escaping @Sendable (FaultRequest) -> [FaultStep]
    ) throws -> FaultServer {
        let isFirst = Atomic(true)
        return try FaultServer { isFirst.exchange(false, ordering: .relaxed) ? first : script($0) }
    }
}
