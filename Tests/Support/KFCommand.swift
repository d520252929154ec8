import Foundation

/// The built binary, with a home and a cache of its own.
///
/// The binary is `$KF_BINARY`, else the one that was built beside the tests.
package struct KFCommand: Sendable {
    package var binary: URL
    package var environment: [String: String]
    /// Holds the cache; anything else in it is the test's own.
    package let home: TemporaryDirectory

    package init(in place: TemporaryDirectory.Place = .memory) throws {
        home = try TemporaryDirectory(in: place)
        binary = try Self.findBinary()
        environment = Tool.environment
        environment["HOME"] = home.url.path
        environment["KF_CACHE_DIR"] = home.path("cache").path
        // The fault that `make mutants` has chosen.
        environment["MUTANT"] = ProcessInfo.processInfo.environment["MUTANT"]
    }

    package var cacheDirectory: URL { home.path("cache") }

    /// The cached images, as paths inside the cache directory.
    package func cachedObjects() -> [String] {
        TemporaryDirectory.files(in: cacheDirectory).filter { $0.contains("objects/") }
    }

    /// What only an interrupted or careless run leaves behind.
    package func leftovers() -> [String] {
        TemporaryDirectory.files(in: cacheDirectory).filter { $0.contains("/tmp/") || $0.contains("/partial/") }
    }

    /// Runs the command to its end. A relative path means one in `directory`, which is `home` by default.
    package func run(
        _ arguments: String..., input: Data? = nil, in directory: URL? = nil, timeout: Duration = .seconds(60)
    ) async throws -> CommandResult {
        try await run(arguments, input: input, in: directory, timeout: timeout)
    }

    package func run(
        _ arguments: [String], input: Data? = nil, in directory: URL? = nil, timeout: Duration = .seconds(60)
    ) async throws -> CommandResult {
        try await start(arguments, input: input, in: directory).wait(timeout: timeout)
    }

    /// Starts the command and leaves it running.
    package func start(_ arguments: [String], input: Data? = nil, in directory: URL? = nil) throws -> RunningCommand {
        try RunningCommand(
            binary.path, arguments, environment: environment, input: input.map { .data($0) } ?? .nothing,
            directory: directory ?? home.url)
    }

    /// Starts the command with standard input and output in the test's hands.
    package func converse(_ arguments: [String]) throws -> RunningCommand {
        try RunningCommand(
            binary.path, arguments, environment: environment, input: .conversation, directory: home.url)
    }

    private static func findBinary() throws -> URL {
        if let path = ProcessInfo.processInfo.environment["KF_BINARY"], !path.isEmpty {
            return try checked(URL(fileURLWithPath: path))
        }
        // The runner is a program of the toolchain that is told which bundle to load.
        guard let bundle = CommandLine.arguments.first(where: { $0.hasSuffix(".xctest") }) else {
            throw RunningCommand.Failure(description: "cannot tell where the tests were built; set KF_BINARY")
        }
        return try checked(URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("kf"))
    }

    private static func checked(_ url: URL) throws -> URL {
        guard access(url.path, X_OK) == 0 else {
            throw RunningCommand.Failure(description: "no kf at \(url.path); run 'make build' or set KF_BINARY")
        }
        return url
    }
}
