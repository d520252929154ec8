import CSystem
import Glibc

/// Lossless conversion of bytes that may not be UTF-8 (paths, arguments, URLs, header values) to `String` and back.
///
/// Each invalid byte becomes one scalar in U+10FF80...U+10FFFF, the end of the last private-use plane. A valid scalar
/// of that range is escaped byte by byte as well, so that the conversion is reversible.
package enum RawText {
    package static func decode(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        // The standard library validates other text in a loop that is not specialized.
        if bytes.reduce(0, |) < 0x80 { return String(decoding: bytes, as: UTF8.self) }
        if !mayHoldEscape(bytes), let text = String(validating: bytes, as: UTF8.self) { return text }
        var result = String.UnicodeScalarView()
        var rest = bytes[...]
        while let first = rest.first {
            let length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2
            if let scalar = String(validating: rest.prefix(length), as: UTF8.self)?.unicodeScalars.first,
                byte(of: scalar) == nil
            {
                result.append(scalar)
                rest = rest.dropFirst(length)
            } else {
                if let scalar = Unicode.Scalar(0x10ff00 + UInt32(clamping: first)) { result.append(scalar) }
                rest = rest.dropFirst()
            }
        }
        return String(result)
    }

    package static func decode(_ text: UnsafePointer<CChar>) -> String {
        let count = strlen(text)
        return text.withMemoryRebound(to: UInt8.self, capacity: count) {
            decode(UnsafeBufferPointer(start: $0, count: count))
        }
    }

    package static func decode(_ bytes: [UInt8]) -> String { bytes.withUnsafeBufferPointer { decode($0) } }

    package static func decode(_ bytes: ArraySlice<UInt8>) -> String { bytes.withUnsafeBufferPointer { decode($0) } }

    /// The command-line arguments after the program's name. `CommandLine.arguments` would replace bytes that are not
    /// UTF-8.
    package static var commandLine: [String] {
        var words: [String] = []
        while let word = kf_argument(Int32(clamping: words.count + 1)) { words.append(decode(word)) }
        return words
    }

    /// Overwrites a value in the command line, or a part of it, with asterisks, so that the process list does not show it.
    /// The value is a word of its own or the end of an option's word.
    package static func hideArgument(_ value: String, only part: Range<String.Index>) {
        let secret = bytes(value)
        let (start, count) = (bytes(String(value[..<part.lowerBound])).count, bytes(String(value[part])).count)
        var index: Int32 = 1
        while let word = kf_argument(index) {
            index += 1
            let text = UnsafeMutableRawBufferPointer(
                start: UnsafeMutablePointer(mutating: word), count: strlen(word))
            guard !secret.isEmpty, text.suffix(secret.count).elementsEqual(secret),
                text.count == secret.count || text.first == UInt8(ascii: "-")
            else { continue }
            memset(text.baseAddress! + (text.count - secret.count + start), Int32(clamping: UInt8(ascii: "*")), count)
        }
    }

    /// Returns the invalid byte that a scalar stands for; nil for an ordinary scalar.
    package static func byte(of scalar: Unicode.Scalar) -> UInt8? {
        scalar.value >= 0x10ff80 ? UInt8(clamping: scalar.value - 0x10ff00) : nil
    }

    /// Returns whether the text contains only ordinary scalars, so that its UTF-8 is the original bytes.
    package static func isPlain(_ text: String) -> Bool {
        !text.contains(byte: 0xf4) || !text.unicodeScalars.contains { byte(of: $0) != nil }
    }

    /// Returns the bytes from which `decode` made the text.
    package static func bytes(_ text: String) -> [UInt8] {
        if isPlain(text) { return Array(text.utf8) }
        var result: [UInt8] = []
        for scalar in text.unicodeScalars {
            if let byte = byte(of: scalar) { result.append(byte) } else { result += Array(String(scalar).utf8) }
        }
        return result
    }

    /// Returns the text with each invalid byte percent-encoded, for formats that allow UTF-8 only.
    package static func percentEscaped(_ text: String) -> String {
        if isPlain(text) { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if let byte = byte(of: scalar) {
                result += PercentCoding.encode(byte)
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Returns whether a scalar of the last private-use plane may occur: its first byte, 0xf4, is otherwise rare.
    private static func mayHoldEscape(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.baseAddress.map { memchr($0, 0xf4, bytes.count) != nil } ?? false
    }
}

extension String {
    package func contains(byte: UInt8) -> Bool {
        let found = utf8.withContiguousStorageIfAvailable { bytes in
            bytes.baseAddress.map { memchr($0, Int32(clamping: byte), bytes.count) != nil } ?? false
        }
        return found ?? utf8.contains(byte)
    }

    /// Calls `body` with the original bytes of a path or a header line as a C string.
    package func withPath<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        if RawText.isPlain(self) { return withCString(body) }
        return (RawText.bytes(self).map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { preconditionFailure("an array with an element has a base") }
            return body(base)
        }
    }
}

extension StringProtocol {
    /// The components of a path. It is split by scalars, because a slash and a combining mark form one `Character`.
    package var pathComponents: [Substring] {
        Substring(self).unicodeScalars.split(separator: "/").map { Substring($0) }
    }
}
