import Glibc
import KFCore

/// The terminal that `--show` draws on: its size, and the graphics that it supports by its environment.
struct Screen: Sendable {
    let form: TerminalPicture.Form
    let columns: Int
    /// The rows of the terminal without one for the prompt.
    let rows: Int

    /// Nil when standard output is not a terminal.
    init?(_ environment: [String: String]) {
        guard Terminal.isTerminal(STDOUT_FILENO) else { return nil }
        var size = winsize()
        let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 && size.ws_row > 1
        columns = isKnown ? Int(size.ws_col) : 80
        rows = isKnown ? Int(size.ws_row) - 1 : 23
        form = Self.form(environment)
    }

    private static func form(_ environment: [String: String]) -> TerminalPicture.Form {
        let term = environment["TERM"] ?? ""
        let program = environment["TERM_PROGRAM"] ?? ""
        // tmux and screen pass on the outer terminal's variables, but not its graphics sequences.
        if !term.hasPrefix("screen"), !term.hasPrefix("tmux") {
            if environment["KITTY_WINDOW_ID"] != nil || term == "xterm-kitty" || term == "xterm-ghostty"
                || program == "ghostty"
            {
                return .kitty
            }
            if ["iTerm.app", "WezTerm", "mintty"].contains(program) { return .iTerm2 }
            let drawsSixels = ["foot", "mlterm", "yaft", "contour"].contains { term.hasPrefix($0) }
            if drawsSixels || term.hasSuffix("-sixel"), TerminalPicture.hasSixel { return .sixel }
        }
        return .blocks(isTrueColor: ["truecolor", "24bit"].contains(environment["COLORTERM"] ?? ""))
    }
}
