import Glibc
import KFCore
import Synchronization

/// Standard output and standard error.
enum Terminal {
    /// The errno of the first failed write of a result; 0 while all succeeded.
    private static let failure = Atomic<Int32>(0)

    /// Whether results cannot be written any more, so that the run should end.
    static var isClosed: Bool { failure.load(ordering: .relaxed) != 0 }

    /// The reason why results were lost; nil for a closed pipe, which is not an error.
    static var lostResults: String? {
        let code = failure.load(ordering: .relaxed)
        return code == 0 || code == EPIPE ? nil : String(cString: strerror(code))
    }

    /// Opens descriptors 0 to 2 if they are closed, so that no other file gets their numbers. They are opened in the
    /// wrong direction, so that using them is still an error.
    static func reserveStandardDescriptors() {
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", mode)
        }
    }

    /// Prints a result.
    static func print(_ line: String) {
        let code = StatusLine.around(line + "\n", { write($0, to: STDOUT_FILENO) }, isOnStandardError: false)
        if code != 0 { failure.store(code, ordering: .relaxed) }
    }

    /// Prints a question on standard error, without a newline.
    static func prompt(_ text: String) { write(text, to: STDERR_FILENO) }

    static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Prints a message of one line on standard error. Control characters in it are escaped.
    static func printError(_ line: String) {
        let line = visible(line)
        say(ColorChoice.isOn(STDERR_FILENO) ? ColorChoice.message(line) : line)
    }

    /// Prints the reason of a failure, as `printError` does but in red.
    static func printFailure(_ line: String) {
        let line = visible(line)
        say(ColorChoice.isOn(STDERR_FILENO) ? ColorChoice.failure(line) : line)
    }

    /// Prints help, which has several lines and nothing to escape.
    static func printHelpAsError(_ text: String) { say(text) }

    private static func say(_ line: String) {
        _ = StatusLine.around(line + "\n", { write($0, to: STDERR_FILENO) }, isOnStandardError: true)
    }

    /// Escapes what could mislead a terminal; see `VisibleText`.
    static func visible(_ text: String) -> String { VisibleText.escaped(text) }

    /// Returns 0, or the errno of a failed write.
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
                // Another process that shares the descriptor made it non-blocking.
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&waiting, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}

/// A line at the bottom of a terminal that is redrawn. Messages appear whole above it.
enum StatusLine {
    /// The text of the line; empty while there is none.
    private static let line = Mutex("")
    private static let isShown = Atomic(false)

    /// Draws the line in place of the last one.
    static func show(_ text: String) {
        line.withLock { line in
            guard text != line else { return }
            let erasing = erasing(line)
            line = text
            isShown.store(!text.isEmpty, ordering: .relaxed)
            put(erasing + text)
        }
    }

    /// Removes the line.
    static func clear() { show("") }

    /// Writes a message above the line and returns what `write` returns. On standard error both are one write.
    static func around(_ message: String, _ write: (String) -> Int32, isOnStandardError: Bool) -> Int32 {
        guard isShown.load(ordering: .relaxed) else { return write(message) }
        return line.withLock { line in
            guard !line.isEmpty else { return write(message) }
            if isOnStandardError { return write(erasing(line) + message + line) }
            guard Terminal.isTerminal(STDOUT_FILENO) else { return write(message) }
            put(erasing(line))
            let code = write(message)
            put(line)
            return code
        }
    }

    /// The width of the terminal, which a user may change at any time.
    static var width: Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// The sequence that erases the line. In a window that became narrower the line has several rows.
    private static func erasing(_ text: String) -> String {
        if text.isEmpty { return "" }
        let rows = (text.count - 1) / max(1, width)
        return (rows > 0 ? "\u{1b}[\(rows)A" : "") + "\r\u{1b}[J"
    }

    private static func put(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            // A failure to draw is not reported.
            _ = Glibc.write(STDERR_FILENO, utf8.baseAddress, utf8.count)
        }
    }
}

/// Whether messages have colours: `--color` decides, else `NO_COLOR`, `CLICOLOR_FORCE`, `TERM`, and the stream's kind.
enum ColorChoice: String, CaseIterable, Sendable {
    case auto, always, never

    private static let current = Mutex(ColorChoice.auto)

    /// Stores the value of `--color`.
    static func set(_ choice: ColorChoice) { current.withLock { $0 = choice } }

    static func isOn(_ descriptor: Int32) -> Bool {
        switch current.withLock({ $0 }) {
        case .always: return true
        case .never: return false
        case .auto:
            if let no = variable("NO_COLOR"), !no.isEmpty { return false }
            if let force = variable("CLICOLOR_FORCE"), !force.isEmpty, force != "0" { return true }
            guard let term = variable("TERM"), !term.isEmpty, term != "dumb" else { return false }
            return isatty(descriptor) == 1
        }
    }

    /// Puts the program's name in bold and the word `warning:` in yellow.
    static func message(_ line: String) -> String {
        let warning = "kf: warning: "
        if line.hasPrefix(warning) {
            return "\u{1b}[1mkf:\u{1b}[0m \u{1b}[1;33mwarning:\u{1b}[0m \(line.dropFirst(warning.count))"
        }
        return line.hasPrefix("kf:") ? "\u{1b}[1mkf:\u{1b}[0m\(line.dropFirst(3))" : line
    }

    /// Puts the program's name in red.
    static func failure(_ line: String) -> String {
        line.hasPrefix("kf:") ? "\u{1b}[1;31mkf:\u{1b}[0m\(line.dropFirst(3))" : line
    }

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
