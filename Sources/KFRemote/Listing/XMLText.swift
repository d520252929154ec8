import KFSystem

/// A reader of XML that holds data: elements with text. Attributes are passed over. Anything else that is not plain, such
/// as a document type with entities of its own, is refused.
enum XMLText {
    /// The greatest number of elements within each other.
    private static let deepest = 16

    /// Passes the names of each element, the outermost first, and its own text to `body` when the element ends. Returns
    /// false if the text is not such XML.
    static func read(_ xml: [UInt8], _ body: (_ path: [String], _ text: String) -> Void) -> Bool {
        var path: [String] = []
        var text: [UInt8] = []
        var isOver = false
        var rest = xml[...]
        while let byte = rest.first {
            guard byte == UInt8(ascii: "<") else {
                let run = rest.prefix { $0 != UInt8(ascii: "<") }
                guard !path.isEmpty || run.allSatisfy(\.isXMLBlank) else { return false }
                text += run
                rest = rest.dropFirst(run.count)
                continue
            }
            guard let tag = tag(&rest) else { return false }
            if tag.first == UInt8(ascii: "?") {
                guard path.isEmpty, !isOver else { return false }
                continue
            }
            let closes = tag.first == UInt8(ascii: "/")
            let isEmpty = !closes && tag.last == UInt8(ascii: "/")
            let name = String(decoding: tag.dropFirst(closes ? 1 : 0).prefix(while: \.isXMLName), as: UTF8.self)
            if !closes {
                guard !name.isEmpty, !isOver, path.count < deepest else { return false }
                path.append(name)
                text = []
            }
            if closes || isEmpty {
                guard path.last == name, let decoded = decoded(text) else { return false }
                body(path, decoded)
                path.removeLast()
                text = []
                isOver = path.isEmpty
            }
        }
        return isOver
    }

    /// Takes a tag, without its brackets. Values of attributes may hold brackets.
    private static func tag(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var quote: UInt8?
        for index in rest.indices.dropFirst() {
            let byte = rest[index]
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: ">") {
                defer { rest = rest[(index + 1)...] }
                return rest[(rest.startIndex + 1)..<index]
            } else if byte == UInt8(ascii: "<") {
                return nil
            }
        }
        return nil
    }

    /// Replaces the references to characters. Nil for any other reference, and for bytes that are not UTF-8.
    private static func decoded(_ bytes: [UInt8]) -> String? {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        guard bytes.contains(UInt8(ascii: "&")) else { return text }
        var result = ""
        var rest = text[...]
        while let mark = rest.firstIndex(of: "&") {
            result += rest[..<mark]
            guard let end = rest[mark...].firstIndex(of: ";"),
                let scalar = scalar(rest[rest.index(after: mark)..<end])
            else { return nil }
            result.unicodeScalars.append(scalar)
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }

    private static func scalar(_ name: Substring) -> Unicode.Scalar? {
        switch name {
        case "amp": "&"
        case "lt": "<"
        case "gt": ">"
        case "quot": "\""
        case "apos": "'"
        case _ where name.hasPrefix("#x"): UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
        case _ where name.hasPrefix("#"): UInt32(name.dropFirst(), radix: 10).flatMap(Unicode.Scalar.init)
        default: nil
        }
    }
}

extension UInt8 {
    fileprivate var isXMLBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
    fileprivate var isXMLName: Bool {
        self &- 0x30 < 10 || self | 0x20 &- 0x61 < 26 || self == 0x2D || self == 0x3A || self == 0x5F || self == 0x2E
    }
}
