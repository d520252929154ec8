import Foundation

/// A program that runs in a terminal of its own: its three streams are that terminal.
package final class PseudoTerminal: Sendable {
    private let pid: pid_t
    private let descriptor: CInt

    /// Swift's Glibc shows neither posix_openpt nor these: TIOCSPTLCK and TIOCGPTN.
    private static let unlock: UInt = 0x4004_5431
    private static let number: UInt = 0x8004_5430

    /// `columns`: how wide the terminal says that it is.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String], directory: URL, columns: UInt16 = 80
    ) throws {
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var number: CInt = 0
        var unlocked: CInt = 0
        guard terminal >= 0, ioctl(terminal, Self.unlock, &unlocked) == 0, ioctl(terminal, Self.number, &number) == 0
        else {
            throw RunningCommand.Failure(description: "no pseudo-terminal: \(String(cString: strerror(errno)))")
        }
        descriptor = terminal
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(terminal, UInt(TIOCSWINSZ), &size)
        var actions = SpawnActions()
        defer { actions.destroy() }
        let path = "/dev/pts/\(number)"
        actions.open(0, path, O_RDWR)
        actions.duplicate(0, 1)
        actions.duplicate(0, 2)
        actions.changeDirectory(directory.path)
        actions.closeFrom(3)
        pid = try actions.spawn(program, arguments, environment)
    }

    package func resize(columns: UInt16) {
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(descriptor, UInt(TIOCSWINSZ), &size)
        kill(pid, SIGWINCH)
    }

    package func signal(_ number: CInt) { kill(pid, number) }

    /// Reads until `isEnough` of all that was written, or the program ends, or 30 s have passed.
    package func read(until isEnough: (String) -> Bool = { _ in false }) -> String {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 65_536)
        let deadline = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < deadline {
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&polled, 1, 100) > 0 else { continue }
            let count = Foundation.read(descriptor, &block, block.count)
            // The last writer has left: EIO.
            guard count > 0 else { break }
            bytes += block[..<count]
            if isEnough(String(decoding: bytes, as: UTF8.self)) { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The exit status, as a shell counts it.
    package func wait() -> Int32 {
        var status: CInt = 0
        while waitpid(pid, &status, 0) == -1, errno == EINTR {}
        return status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
    }

    deinit {
        kill(-pid, SIGKILL)
        close(descriptor)
        var status: CInt = 0
        waitpid(pid, &status, WNOHANG)
    }
}
