import Glibc
import KFCore
import Synchronization

/// Standard output and standard error.
enum Terminal {
    /// Whether results cannot be written any more, so that the run should end.
    static var isClosed: Bool { Session.current.failure.load(ordering: .relaxed) != 0 }

    /// The reason why results were lost; nil for a closed pipe, which is not an error.
    static var lostResults: String? {
        let code = Session.current.failure.load(ordering: .relaxed)
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

    static func print(_ line: String) {
        let session = Session.current
        let code = session.line.around(line + "\n", { write($0, to: session.output) }, isMessage: false)
        if code != 0 { session.failure.store(code, ordering: .relaxed) }
    }

    /// Prints a question on standard error, without a newline.
    static func prompt(_ text: String) { write(text, to: Session.current.errors) }

    static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Prints a message of one line on standard error. Control characters in it are escaped.
    static func printError(_ line: String) { say(ColorChoice.message(visible(line))) }

    /// Prints the reason of a failure, as `printError` does but in red.
    static func printFailure(_ line: String) { say(ColorChoice.failure(visible(line))) }

    /// Prints text on standard error as it is: help, or a command for a program that reads it.
    static func printPlainError(_ text: String) { say(text) }

    private static func say(_ line: String) {
        let session = Session.current
        _ = session.line.around(line + "\n", { write($0, to: session.errors) }, isMessage: true)
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
final class StatusLine: Sendable {
    /// The text of the line; empty while there is none.
    private let line = Mutex("")
    private let isShown = Atomic(false)

    /// Draws the line in place of the last one. `text` is given the width of the terminal.
    func show(_ text: (Int) -> String) {
        let text = text(Self.width)
        line.withLock { line in
            guard text != line else { return }
            let erasing = Self.erasing(line)
            line = text
            isShown.store(!text.isEmpty, ordering: .relaxed)
            Self.put(erasing + text)
        }
    }

    func clear() { show { _ in "" } }

    /// Writes text above the line and returns what `write` returns. A message and the line are one write.
    func around(_ message: String, _ write: (String) -> Int32, isMessage: Bool) -> Int32 {
        guard isShown.load(ordering: .relaxed) else { return write(message) }
        return line.withLock { line in
            guard !line.isEmpty else { return write(message) }
            if isMessage { return write(Self.erasing(line) + message + line) }
            guard Terminal.isTerminal(Session.current.output) else { return write(message) }
            Self.put(Self.erasing(line))
            let code = write(message)
            Self.put(line)
            return code
        }
    }

    /// The width of the terminal, which a user may change at any time.
    private static var width: Int {
        var size = winsize()
        guard ioctl(Session.current.errors, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
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
            _ = Glibc.write(Session.current.errors, utf8.baseAddress, utf8.count)
        }
    }
}

/// Whether messages have colours: `--color` decides, else `NO_COLOR`, `CLICOLOR_FORCE`, `TERM`, and the stream's kind.
enum ColorChoice: String, CaseIterable, Sendable {
    case auto, always, never

    private static var isOn: Bool {
        let session = Session.current
        switch session.color.withLock({ $0 }) {
        case .always: return true
        case .never: return false
        case .auto:
            if let no = session.environment["NO_COLOR"], !no.isEmpty { return false }
            if let force = session.environment["CLICOLOR_FORCE"], !force.isEmpty, force != "0" { return true }
            guard let term = session.environment["TERM"], !term.isEmpty, term != "dumb" else { return false }
            return Terminal.isTerminal(session.errors)
        }
    }

    /// Puts the program's name in bold and the word `warning:` in yellow, if messages have colours.
    static func message(_ line: String) -> String {
        guard isOn, line.hasPrefix("kf:") else { return line }
        let warning = "kf: warning: "
        if line.hasPrefix(warning) {
            return "\u{1b}[1mkf:\u{1b}[0m \u{1b}[1;33mwarning:\u{1b}[0m \(line.dropFirst(warning.count))"
        }
        return "\u{1b}[1mkf:\u{1b}[0m\(line.dropFirst(3))"
    }

    /// Puts the program's name in red, if messages have colours.
    static func failure(_ line: String) -> String {
        isOn && line.hasPrefix("kf:") ? "\u{1b}[1;31mkf:\u{1b}[0m\(line.dropFirst(3))" : line
    }
}
