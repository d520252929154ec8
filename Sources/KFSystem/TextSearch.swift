import Glibc

/// Searching text, byte by byte. The standard library's functions of these names link 1.7 MB of regular expressions.
extension StringProtocol {
    /// Returns the place of the first occurrence of a text; nil if there is none.
    package func firstRange(of text: some StringProtocol) -> Range<Index>? {
        let wanted = Array(text.utf8)
        if wanted.isEmpty { return startIndex..<startIndex }
        var own = Substring(self)
        let found = own.withUTF8 { bytes -> Int? in
            guard let base = bytes.baseAddress else { return nil }
            var start = 0
            while start + wanted.count <= bytes.count,
                let first = memchr(base + start, Int32(clamping: wanted[0]), bytes.count - wanted.count - start + 1)
            {
                if memcmp(first, wanted, wanted.count) == 0 { return UnsafeRawPointer(first) - UnsafeRawPointer(base) }
                start = UnsafeRawPointer(first) - UnsafeRawPointer(base) + 1
            }
            return nil
        }
        guard let found else { return nil }
        let start = utf8.index(startIndex, offsetBy: found)
        return start..<utf8.index(start, offsetBy: wanted.count)
    }

    /// Returns whether the text occurs here. The empty text does.
    package func contains(_ text: String) -> Bool { firstRange(of: text) != nil }

    /// Returns the parts between the occurrences of a text, also the empty ones.
    package func parts(around separator: String) -> [SubSequence] {
        var parts: [SubSequence] = []
        var rest = self[...]
        while !separator.isEmpty, let found = rest.firstRange(of: separator) {
            parts.append(self[rest.startIndex..<found.lowerBound])
            rest = self[found.upperBound...]
        }
        return parts + [rest]
    }
}

extension String {
    /// Returns the text with another one in place of each occurrence of a text.
    package func replacing(_ text: String, with other: String) -> String {
        parts(around: text).joined(separator: other)
    }
}

extension BidirectionalCollection<UInt8> {
    /// Returns the place of the first occurrence of some bytes; nil if there is none.
    @inlinable package func firstRange(of bytes: some Collection<UInt8>) -> Range<Index>? {
        var start = startIndex
        while start != endIndex {
            if self[start...].starts(with: bytes) { return start..<index(start, offsetBy: bytes.count) }
            start = index(after: start)
        }
        return nil
    }
}
