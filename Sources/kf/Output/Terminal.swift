import Glibc
import Synchronization

/// Text on the way to a person or the next program.
enum Terminal {
    private static let closed = Atomic(false)

    /// Nobody reads the results any more: time to end, quietly.
    static var isClosed: Bool { closed.load(ordering: .relaxed) }

    /// Results.
    static func print(_ line: String) {
        if !write(line + "\n", to: STDOUT_FILENO) { closed.store(true, ordering: .relaxed) }
    }

    /// A question on stderr; the answer is typed on the same line.
    static func prompt(_ text: String) { write(text, to: STDERR_FILENO) }

    static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    static func printError(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

    /// Control characters become `\xNN`: a URL or a header is no way to drive somebody's terminal.
    static func visible(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if isControl(scalar) {
                let digits = String(scalar.value, radix: 16)
                result += "\\x" + String(repeating: "0", count: max(0, 2 - digits.count)) + digits
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7f..<0xa0).contains(scalar.value)
            // Marks that turn the direction of writing can make one name look like another.
            || (0x202a...0x202e).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
    }

    @discardableResult
    private static func write(_ text: String, to descriptor: Int32) -> Bool {
        var text = text
        return text.withUTF8 { utf8 in
            var rest = UnsafeRawBufferPointer(utf8)
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count > 0 {
                    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
                } else if errno != EINTR {
                    return false
                }
            }
            return true
        }
    }
}
