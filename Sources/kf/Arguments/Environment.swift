import Glibc
import KFCore

/// The process's environment variables.
enum Environment {
    static let current = {
        var result: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let text = RawText.decode(entry)
            if let mark = text.utf8.firstIndex(of: UInt8(ascii: "=")) {
                result[String(text[..<mark])] = String(text[text.index(after: mark)...])
            }
            next += 1
        }
        return result
    }()
}
