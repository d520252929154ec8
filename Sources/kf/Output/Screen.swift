import Glibc
import KFCore

/// The terminal that pictures are drawn on, going by its size and what the environment says of it.
struct Screen: Sendable {
    let form: TerminalPicture.Form
    let columns: Int
    /// One is left for the prompt.
    let rows: Int

    /// Nil where standard output is no terminal.
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
        // Under tmux and screen the variables are the outer terminal's, and its sequences do not pass.
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
