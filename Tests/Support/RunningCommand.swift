import Foundation
import Synchronization

/// A program that runs beside the test. Its output goes to files, so that it never waits for a reader.
///
/// It has its own process group, which is killed when the last reference goes. Foundation's `Process` would do for
/// less: it neither tells the memory that the program took nor kills what the program started.
package final class RunningCommand: Sendable {
    package enum Input: Sendable {
        case nothing
        case data(Data)
        /// Standard input and output are one socket, for a program that answers and then lives until
        /// `hangUp()`.
        case conversation
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    package let command: String
    private let files: TemporaryDirectory
    private let started = ContinuousClock.now
    private let state: Mutex<State>

    private struct State {
        /// Nil once the process was reaped: its number may then belong to another.
        var pid: pid_t?
        var socket: CInt?
    }

    package init(
        _ program: String, _ arguments: [String], environment: [String: String], input: Input = .nothing,
        directory: URL? = nil
    ) throws {
        command = ([program] + arguments).joined(separator: " ")
        files = try TemporaryDirectory()
        var ends: [CInt] = [-1, -1]
        if case .conversation = input {
            guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
                throw Failure(description: "no socket pair: \(String(cString: strerror(errno)))")
            }
        }
        defer { if ends[1] >= 0 { close(ends[1]) } }
        var actions = SpawnActions()
        defer { actions.destroy() }
        switch input {
        case .nothing: actions.open(0, "/dev/null", O_RDONLY)
        case .data(let data): actions.open(0, try files.write("stdin", data).path, O_RDONLY)
        case .conversation: actions.duplicate(ends[1], 0)
        }
        if case .conversation = input {
            actions.duplicate(ends[1], 1)
        } else {
            actions.open(1, files.path("stdout").path, O_WRONLY | O_CREAT | O_TRUNC)
        }
        actions.open(2, files.path("stderr").path, O_WRONLY | O_CREAT | O_TRUNC)
        if let directory { actions.changeDirectory(directory.path) }
        actions.closeFrom(3)
        do {
            let pid = try actions.spawn(program, arguments, environment)
            state = Mutex(State(pid: pid, socket: ends[0] >= 0 ? ends[0] : nil))
        } catch {
            if ends[0] >= 0 { close(ends[0]) }
            throw error
        }
    }

    deinit {
        state.withLock { state in
            let conversed = state.socket != nil
            if let socket = state.socket { close(socket) }
            guard let pid = state.pid else { return }
            var status: CInt = 0
            // Whoever is in a conversation is told by its end, and may have something to put away.
            if conversed {
                for _ in 0..<1500 {
                    if waitpid(pid, &status, WNOHANG) != 0 { return }
                    usleep(2000)
                }
            }
            kill(-pid, SIGKILL)
            while waitpid(pid, &status, 0) == -1, errno == EINTR {}
        }
    }

    /// Nil once it has ended and was waited for.
    package var processNumber: Int32? { state.withLock { $0.pid } }

    /// Sends a signal to the program alone, or with it to all that it started.
    package func signal(_ number: CInt, group: Bool = false) {
        state.withLock { state in
            guard let pid = state.pid else { return }
            kill(group ? -pid : pid, number)
        }
    }

    /// Sends SIGSTOP, and returns once no thread of the program runs.
    package func stop() async throws {
        signal(SIGSTOP)
        let folder = "/proc/\(processNumber ?? 0)/task"
        let stands = await eventually {
            let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return threads.allSatisfy { thread in
                let status = try? String(contentsOfFile: "\(folder)/\(thread)/status", encoding: .utf8)
                return status?.contains("State:\tT") ?? true
            }
        }
        guard stands else { throw Failure(description: "\(command) does not stop") }
    }

    /// What the program has open, as /proc names it.
    package var openFiles: [String] {
        state.withLock { state in
            guard let pid = state.pid else { return [] }
            let folder = "/proc/\(pid)/fd"
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
        }
    }

    /// Says a line in a conversation; false when nobody listens any more.
    package func writeLine(_ line: String) -> Bool {
        guard let socket = state.withLock({ $0.socket }) else { return false }
        let bytes = Array((line + "\n").utf8)
        return send(socket, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count
    }

    /// Says that no more lines come; what the program has to say can still be read.
    package func endInput() {
        state.withLock { state in
            guard let socket = state.socket else { return }
            _ = shutdown(socket, CInt(SHUT_WR))
        }
    }

    /// Closes this side of a conversation.
    package func hangUp() {
        state.withLock { state in
            guard let socket = state.socket else { return }
            close(socket)
            state.socket = nil
        }
    }

    /// Reads one line of a conversation; nil when the program ended it first.
    package func readLine() -> String? {
        guard let socket = state.withLock({ $0.socket }) else { return nil }
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            let count = read(socket, &byte, 1)
            if count == -1, errno == EINTR { continue }
            guard count == 1 else { return nil }
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
    }

    /// What the program has written to standard error so far.
    package var errorsSoFar: String {
        guard let data = FileManager.default.contents(atPath: files.path("stderr").path) else { return "" }
        return String(decoding: data, as: UTF8.self)
    }

    /// What the program has written to standard output so far.
    package var outputSoFar: String {
        guard let data = FileManager.default.contents(atPath: files.path("stdout").path) else { return "" }
        return String(decoding: data, as: UTF8.self)
    }

    /// Waits for the end, on a thread of its own. Past `timeout` the program is killed and this throws.
    package func wait(timeout: Duration = .seconds(60)) async throws -> CommandResult {
        let killer = Task {
            try await Task.sleep(for: timeout)
            signal(SIGKILL, group: true)
        }
        let end = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: self.reap()) }
        }
        killer.cancel()
        guard let (status, peak) = end else { throw Failure(description: "\(command): was waited for already") }
        let wall = ContinuousClock.now - started
        let result = CommandResult(
            command: command, status: status,
            standardOutput: FileManager.default.contents(atPath: files.path("stdout").path) ?? Data(),
            standardError: FileManager.default.contents(atPath: files.path("stderr").path) ?? Data(), wall: wall,
            peakMemory: peak)
        if wall >= timeout { throw Failure(description: "killed after \(timeout): \(result)") }
        return result
    }

    private func reap() -> (status: Int32, peak: Int)? {
        guard let pid = state.withLock({ $0.pid }) else { return nil }
        // Waits without reaping first, so that a signal sent meanwhile cannot reach a stranger.
        var info = siginfo_t()
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) == -1, errno == EINTR {}
        return state.withLock { state in
            var status: CInt = 0
            var usage = rusage()
            guard wait4(pid, &status, 0, &usage) == pid else { return nil }
            state.pid = nil
            let signal = status & 0x7f
            return (signal == 0 ? status >> 8 & 0xff : 128 + signal, usage.ru_maxrss * 1024)
        }
    }
}
