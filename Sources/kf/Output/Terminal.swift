import Glibc
import KFCore
import Synchronization

/// Text on the way to a person or the next program.
enum Terminal {
    /// What went wrong with the results, as an errno; 0 while nothing has.
    private static let failure = Atomic<Int32>(0)

    /// Nobody gets the results any more: time to end.
    static var isClosed: Bool { failure.load(ordering: .relaxed) != 0 }

    /// Why results were lost, in words. The quiet end of a pipe is no loss.
    static var lostResults: String? {
        let code = failure.load(ordering: .relaxed)
        return code == 0 || code == EPIPE ? nil : String(cString: strerror(code))
    }

    /// Gives descriptors 0 to 2 a meaning when they came closed, so that no file opened later is taken for them. They
    /// are opened the wrong way round: using them is an error, as with a closed one.
    static func reserveStandardDescriptors() {
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", mode)
        }
    }

    /// Results.
    static func print(_ line: String) {
        let code = StatusLine.around(line + "\n", { write($0, to: STDOUT_FILENO) }, isOnStandardError: false)
        if code != 0 { failure.store(code, ordering: .relaxed) }
    }

    /// A question on stderr; the answer is typed on the same line.
    static func prompt(_ text: String) { write(text, to: STDERR_FILENO) }

    static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// A message of one line, its beginning in colour where that is wanted. What it quotes is made harmless here.
    static func printError(_ line: String) {
        let line = visible(line)
        say(ColorChoice.isOn(STDERR_FILENO) ? ColorChoice.message(line) : line)
    }

    /// Why something was not done; otherwise as `printError`.
    static func printFailure(_ line: String) {
        let line = visible(line)
        say(ColorChoice.isOn(STDERR_FILENO) ? ColorChoice.failure(line) : line)
    }

    /// Text of kf's own, of several lines.
    static func printHelpAsError(_ text: String) { say(text) }

    private static func say(_ line: String) {
        _ = StatusLine.around(line + "\n", { write($0, to: STDERR_FILENO) }, isOnStandardError: true)
    }

    /// Text from outside, on its way to a terminal; see `VisibleText`.
    static func visible(_ text: String) -> String { VisibleText.escaped(text) }

    /// 0, or the errno of what failed.
    @discardableResult
    private static func write(_ text: String, to descriptor: Int32) -> Int32 {
        guard RawText.isPlain(text) else {
            return RawText.bytes(text).withUnsafeBytes { write($0, to: descriptor) }
        }
        var text = text
        return text.withUTF8 { write(UnsafeRawBufferPointer($0), to: descriptor) }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count > 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            } else if count == 0 {
                return EIO
            } else if errno == EAGAIN {
                // Whoever shares the descriptor made it non-blocking.
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&waiting, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}
