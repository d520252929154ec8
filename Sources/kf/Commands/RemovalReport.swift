import Glibc
import KFCore

/// What `clean` and `rm` say when they have ended.
enum RemovalReport {
    static func print(_ removal: Removal, dryRun: Bool, _ common: CommonSettings) {
        if common.json {
            var object = JSONObject()
            object.add("schema", 1)
            object.add("dry_run", dryRun)
            object.add("removed", removal.entries)
            object.add("bytes", removal.bytes)
            Terminal.print(object.line)
        } else if !common.quiet {
            let verb = dryRun ? "would remove" : "removed"
            let noun = removal.entries == 1 ? "entry" : "entries"
            Terminal.print("\(verb) \(removal.entries) \(noun), \(ByteText.bytes(removal.bytes))")
        }
    }
}

/// A question, to a person only: where nobody sits, the command itself was the answer.
enum Confirmation {
    static func ask(_ question: String) -> Bool {
        guard Terminal.isTerminal(STDIN_FILENO), Terminal.isTerminal(STDERR_FILENO) else { return true }
        Terminal.prompt("\(Terminal.visible(question)) [y/N] ")
        return ["y", "yes"].contains(readLine()?.lowercased() ?? "")
    }
}
