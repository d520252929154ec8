import Foundation
import KFSystem
import Support
import Testing

/// The functions on text that stand in for those of the standard library and of libcrypto.
@Suite("Text of KFSystem") struct TextTests {
    /// Texts of few different characters, so that many begin like what is searched, some of several bytes.
    private static func texts(_ count: Int, upTo length: Int) -> [String] {
        var random = Dice(7)
        return (0..<count).map { _ in
            String((0..<Int.random(in: 0...length, using: &random)).map { _ in "ab=ä".randomElement(using: &random)! })
        }
    }

    @Test("Text is found where Foundation finds it")
    func search() {
        for (text, wanted) in zip(Self.texts(2000, upTo: 40), Self.texts(2000, upTo: 3)) where !wanted.isEmpty {
            let expected = (text as NSString).range(of: wanted, options: .literal)
            let found = text.firstRange(of: wanted)
            #expect(found.map { NSRange($0, in: text) } ?? NSRange(location: NSNotFound, length: 0) == expected)
            #expect(text.contains(wanted) == (expected.location != NSNotFound))
            #expect(text.parts(around: wanted).map(String.init) == text.components(separatedBy: wanted))
            #expect(
                text.replacing(wanted, with: "ab")
                    == text.replacingOccurrences(of: wanted, with: "ab", options: .literal)
            )
            let bytes = Array(text.utf8).firstRange(of: Array(wanted.utf8))
            #expect(bytes?.lowerBound == found.map { text.utf8.distance(from: text.startIndex, to: $0.lowerBound) })
        }
        #expect("abc".dropFirst().firstRange(of: "a") == nil && "abc".parts(around: "") == ["abc"] && "".contains(""))
    }

    @Test("Base 64 is that of Foundation, and nothing else is accepted")
    func base64() throws {
        for count in 0..<200 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ count) }
            let text = Data(bytes).base64EncodedString()
            #expect(Base64.encode(bytes) == text)
            #expect(Base64.decode(text) == bytes)
        }
        for text in ["a", "ab=", "abc", "a===", "====", "ab=c", "abcd=", " abcd", "abc\n", "ab-_", "abcdäa", "=abc"] {
            #expect(Base64.decode(text) == nil, "\(text)")
        }
    }
}
