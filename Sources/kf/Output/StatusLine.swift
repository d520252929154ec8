import Glibc
import Synchronization

/// A line at the bottom of a terminal that is drawn over again and again. Messages go in above it and are never torn.
enum StatusLine {
    private struct State {
        var text = ""
    }

    private static let state = Mutex(State())
    private static let isShown = Atomic(false)

    /// Draws the line in place of the last one.
    static func show(_ text: String) {
        state.withLock { state in
            guard text != state.text else { return }
            let erasing = erasing(state.text)
            state.text = text
            isShown.store(!text.isEmpty, ordering: .relaxed)
            put(erasing + text)
        }
    }

    /// Takes the line away.
    static func clear() { show("") }

    /// Writes a message with the line out of its way. On standard error, where the
    /// line is, both are written in one piece. Gives back what `write` does.
    static func around(_ message: String, _ write: (String) -> Int32, isOnStandardError: Bool) -> Int32 {
        guard isShown.load(ordering: .relaxed) else { return write(message) }
        return state.withLock { state in
            guard !state.text.isEmpty else { return write(message) }
            if isOnStandardError { return write(erasing(state.text) + message + state.text) }
            guard Terminal.isTerminal(STDOUT_FILENO) else { return write(message) }
            put(erasing(state.text))
            let code = write(message)
            put(state.text)
            return code
        }
    }

    /// How many characters a line may have; terminals told of another width are asked each time.
    static var width: Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Of a window that has become narrower, the line takes several rows.
    private static func erasing(_ text: String) -> String {
        if text.isEmpty { return "" }
        let rows = (text.count - 1) / max(1, width)
        return (rows > 0 ? "\u{1b}[\(rows)A" : "") + "\r\u{1b}[J"
    }

    private static func put(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            // What cannot be drawn is not missed.
            _ = Glibc.write(STDERR_FILENO, utf8.baseAddress, utf8.count)
        }
    }
}
