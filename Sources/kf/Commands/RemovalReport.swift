import Glibc
import KFCore

/// What `clean` and `rm` say when they have ended.
enum RemovalReport {
    /// Prints each entry that goes, where that is wanted.
    static func each(_ common: CommonSettings, dryRun: Bool) -> ImageCache.EachRemoved? {
        guard common.verbose else { return nil }
        return { name in
            guard common.json else { return Terminal.print(EntryText.name(name, whole: true)) }
            var object = JSONObject()
            object.add("schema", 1)
            object.add("status", dryRun ? "would_be_removed" : "removed")
            object.add("key", name.key)
            object.add("identifier", name.identifier)
            Terminal.print(object.line)
        }
    }

    static func print(_ removal: Removal, dryRun: Bool, _ common: CommonSettings) {
        if common.json {
            var object = JSONObject()
            object.add("schema", 1)
            object.add("summary", true)
            object.add("dry_run", dryRun)
            object.add("removed", removal.entries)
            object.add("bytes", removal.bytes)
            object.add("partials", removal.partials)
            object.add("partial_bytes", removal.partialBytes)
            Terminal.print(object.line)
        } else if !common.quiet {
            let verb = dryRun ? "would remove" : "removed"
            let entries = EntryText.count(removal.entries, "entry", "entries")
            var text = "\(verb) \(entries), \(ByteText.bytes(removal.bytes))"
            if removal.partials > 0 {
                text += " and \(EntryText.partials(removal.partials)), \(ByteText.bytes(removal.partialBytes))"
            }
            Terminal.print(text)
        }
    }
}

/// A yes-or-no question on the terminal.
enum Confirmation {
    /// Whether a question can be asked: standard input and standard error are terminals.
    static var isPossible: Bool { Terminal.isTerminal(STDIN_FILENO) && Terminal.isTerminal(STDERR_FILENO) }

    /// Asks; anything but yes is no.
    static func ask(_ question: String) -> Bool {
        Terminal.prompt("\(Terminal.visible(question)) [y/N] ")
        return ["y", "yes"].contains(readLine()?.lowercased() ?? "")
    }
}
