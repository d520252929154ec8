import Command
import Foundation
import Support

/// Calls of the command in the process of the tests, where a start of the program would only cost time: tests that look
/// at arguments, text, JSON or exit statuses. Standard input, signals and what `strace` sees need the binary.
extension KFCommand {
    /// The calls run one at a time, because the working directory belongs to the process, and so does the session.
    private static let calls = DispatchQueue(label: "kf.tests.calls")

    /// Runs the command to its end, in `home` as the working directory.
    func call(_ arguments: String...) async throws -> CommandResult { try await call(arguments) }

    func call(_ arguments: [String]) async throws -> CommandResult {
        try await withCheckedThrowingContinuation { continuation in
            Self.calls.async { continuation.resume(with: Result { try callNow(arguments) }) }
        }
    }

    private func callNow(_ arguments: [String]) throws -> CommandResult {
        let start = ContinuousClock.now
        let (output, errors) = (try Self.unnamedFile(), try Self.unnamedFile())
        let before = FileManager.default.currentDirectoryPath
        guard chdir(home.url.path) == 0 else { throw POSIXError(.ENOENT) }
        defer { _ = chdir(before) }
        let session = Session(
            environment: environment, output: output.fileDescriptor, errors: errors.fileDescriptor)
        let status = KF.run(arguments, in: session)
        return CommandResult(
            command: (["kf"] + arguments).joined(separator: " "), status: status,
            standardOutput: try Self.contents(of: output), standardError: try Self.contents(of: errors),
            wall: .now - start, peakMemory: 0)
    }

    private static func unnamedFile() throws -> FileHandle {
        var name = Array("/dev/shm/kf-tests-XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw POSIXError(.EIO) }
        unlink(name)
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    private static func contents(of file: FileHandle) throws -> Data {
        try file.seek(toOffset: 0)
        return try file.readToEnd() ?? Data()
    }
}
