import Foundation
import Synchronization

/// A program with a terminal of its own, which a test types into and reads from.
///
/// It is killed, with all that it started, when the last reference goes.
package final class PseudoTerminal: Sendable {
    private struct State {
        /// Nil once the program was reaped.
        var pid: pid_t?
        var seen: [UInt8] = []
    }

    /// TIOCSPTLCK and TIOCGPTN
    private static let (unlock, getNumber) = (UInt(0x4004_5431), UInt(0x8004_5430))

    private let master: CInt
    private let state: Mutex<State>

    package init(
        _ program: String, _ arguments: [String], environment: [String: String], directory: URL? = nil,
        columns: UInt16 = 80, rows: UInt16 = 24
    ) throws {
        // What posix_openpt, unlockpt and ptsname do: Swift's Glibc module does not show them.
        var (locked, number) = (CInt(0), CUnsignedInt(0))
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard master >= 0, ioctl(master, Self.unlock, &locked) == 0, ioctl(master, Self.getNumber, &number) == 0 else {
            throw RunningCommand.Failure(description: "no pseudo-terminal: \(String(cString: strerror(errno)))")
        }
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
        var actions = SpawnActions()
        defer { actions.destroy() }
        // The leader of a session gets the first terminal that it opens as its own.
        actions.open(0, "/dev/pts/\(number)", O_RDWR)
        actions.duplicate(0, 1)
        actions.duplicate(0, 2)
        if let directory { actions.changeDirectory(directory.path) }
        actions.closeFrom(3)
        do {
            state = Mutex(State(pid: try actions.spawn(program, arguments, environment, session: true)))
        } catch {
            close(master)
            throw error
        }
    }

    deinit {
        state.withLock { state in
            if let pid = state.pid {
                kill(-pid, SIGKILL)
                var status: CInt = 0
                while waitpid(pid, &status, 0) == -1, errno == EINTR {}
            }
        }
        close(master)
    }

    /// Makes the window narrower or wider, and tells the program.
    package func resize(columns: UInt16, rows: UInt16 = 24) {
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
    }

    package func type(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    package func signal(_ number: CInt) {
        state.withLock { state in
            if let pid = state.pid { kill(-pid, number) }
        }
    }

    /// All that the program has shown so far.
    package var shown: String { state.withLock { String(decoding: $0.seen, as: UTF8.self) } }

    /// The same without escape sequences.
    package var text: String {
        shown.replacing(/\x1b(\[[0-9;?>=]*[ -\/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[()].|[=>78cDEHM])/, with: "")
    }

    /// Forgets what was shown.
    package func clear() { state.withLock { $0.seen = [] } }

    /// Reads until the condition holds of what was shown since `clear()`. False when that does not come to pass.
    package func wait(_ timeout: Duration = .seconds(60), until condition: (String) -> Bool) -> Bool {
        let end = ContinuousClock.now + timeout
        while !condition(shown) {
            guard ContinuousClock.now < end, readSome() else { return condition(shown) }
        }
        return true
    }

    package func wait(for text: String, _ timeout: Duration = .seconds(60)) -> Bool {
        wait(timeout) { $0.contains(text) }
    }

    /// Reads to the end of the program; its status as a shell counts it. Nil when it does not end in time.
    package func finish(_ timeout: Duration = .seconds(60)) -> CInt? {
        let end = ContinuousClock.now + timeout
        while ContinuousClock.now < end {
            let isOpen = readSome()
            let status: CInt? = state.withLock { state in
                var status: CInt = 0
                guard let pid = state.pid, waitpid(pid, &status, WNOHANG) == pid else { return nil }
                state.pid = nil
                return status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
            }
            if let status {
                // What it wrote last may still be on its way.
                for _ in 0..<50 where isOpen { if !readSome(wait: 20) { break } }
                return status
            }
            if !isOpen { usleep(2000) }
        }
        return nil
    }

    /// Waits a moment for more. False when the terminal has been closed on the other side.
    private func readSome(wait milliseconds: CInt = 50) -> Bool {
        var entry = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, milliseconds) > 0 else { return milliseconds == 50 }
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = read(master, &buffer, buffer.count)
        guard count > 0 else { return count < 0 && errno == EINTR }
        state.withLock { $0.seen += buffer[..<count] }
        return true
    }
}
