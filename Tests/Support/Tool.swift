import Foundation

/// Other people's programs, which judge what `kf` did.
package enum Tool {
    /// What a child starts with: nothing of the developer's own environment that could change an answer.
    package static let environment = [
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8", "HOME": "/nonexistent",
    ]

    package static func isInstalled(_ name: String) -> Bool {
        environment["PATH"]!.split(separator: ":").contains { access("\($0)/\(name)", X_OK) == 0 }
    }

    /// Makes an executable file for everybody from another file. Another process writes it: a child that this process
    /// forks meanwhile would hold the open file, and the kernel executes no file that is open for writing.
    package static func makeExecutable(_ file: URL, from source: URL) throws {
        guard system("install -m 0755 '\(source.path)' '\(file.path)'") == 0 else {
            throw RunningCommand.Failure(description: "cannot make \(file.path) executable")
        }
    }

    /// Runs a program to its end.
    package static func run(
        _ program: String, _ arguments: String..., input: Data? = nil, in directory: URL? = nil,
        timeout: Duration = .seconds(60)
    ) async throws -> CommandResult {
        try await run(program, arguments, input: input, in: directory, timeout: timeout)
    }

    package static func run(
        _ program: String, _ arguments: [String], input: Data? = nil, in directory: URL? = nil,
        timeout: Duration = .seconds(60)
    ) async throws -> CommandResult {
        try await RunningCommand(
            program, arguments, environment: environment, input: input.map { .data($0) } ?? .nothing,
            directory: directory
        ).wait(timeout: timeout)
    }
}
