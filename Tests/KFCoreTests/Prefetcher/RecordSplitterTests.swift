import Testing

@testable import KFCore
@testable import KFLists
@testable import KFPipeline

@Suite("The splitter of records")
struct RecordSplitterTests {
    private static let csv = UInt8(ascii: ",")

    private struct Cut: Equatable, CustomStringConvertible {
        let line: Int
        let text: String
        var problem: String?

        var description: String { "\(line): \(text.debugDescription) \(problem ?? "")" }
    }

    private func cut(_ delimiter: UInt8?, _ blocks: [[UInt8]]) -> [Cut] {
        var splitter = RecordSplitter(delimiter: delimiter)
        let records = blocks.flatMap { splitter.take($0) } + splitter.end()
        return records.map {
            Cut(line: $0.line, text: String(decoding: $0.content, as: UTF8.self), problem: $0.problem?.message)
        }
    }

    private func cut(_ delimiter: UInt8?, _ text: String) -> [Cut] { cut(delimiter, [Array(text.utf8)]) }

    @Test("Lines end with LF, CRLF or the end of the file")
    func ends() {
        #expect(cut(nil, "a\nb\r\n\nc").map(\.text) == ["a", "b", "", "c"])
        #expect(cut(nil, "").isEmpty)
        #expect(cut(nil, "\n").map(\.text) == [""])
        #expect(cut(nil, "a\rb\n").map(\.text) == ["a\rb"])
        #expect(cut(nil, "a,\"b\nc\"").map(\.text) == ["a,\"b", "c\""])
    }

    @Test("Quoted fields hold delimiters and line ends")
    func quoted() {
        let records = cut(Self.csv, "a,\"b\nc\",d\n\"e\"\"\n,f\"\ng\"h\ni\n")
        #expect(records.map(\.text) == ["a,\"b\nc\",d", "\"e\"\"\n,f\"", "g\"h", "i"])
        #expect(records.map(\.line) == [1, 3, 5, 6])
    }

    @Test("A csv may mix LF, CRLF and a bare CR")
    func carriageReturns() {
        let records = cut(Self.csv, "u,c\na,\"x\ry\"\rb,y\r\nc,z\r\rd,\"e\"\r\"f\",g")
        #expect(records.map(\.text) == ["u,c", "a,\"x\ry\"", "b,y", "c,z", "", "d,\"e\"", "\"f\",g"])
        #expect(records.map(\.line) == [1, 2, 3, 4, 5, 6, 7])
        #expect(cut(Self.csv, "u\ra\rb\r").map(\.text) == ["u", "a", "b"])
        #expect(cut(Self.csv, "u\r\"a\rb\rc").map { $0.problem == nil } == [true, false, true, true])
    }

    @Test("A byte order mark is not part of the first record")
    func mark() {
        #expect(cut(nil, "\u{feff}a\nb").map(\.text) == ["a", "b"])
        #expect(cut(nil, "\u{feff}").isEmpty)
        #expect(cut(nil, [[0xef], [0xbb], [0xbf, 0x61]]).map(\.text) == ["a"])
        #expect(cut(nil, [[0xef]]).count == 1)
    }

    @Test("A quote that is never closed costs only its line")
    func openQuote() {
        let records = cut(Self.csv, "a\n\"b,c\nd\ne\ng")
        #expect(records.map(\.line) == [1, 2, 3, 4, 5])
        #expect(records.map { $0.problem != nil } == [false, true, false, false, false])
        let long = "\"open\n" + String(repeating: "http://h/x\n", count: 150_000)
        let all = cut(Self.csv, long)
        #expect(all.count == 150_001)
        #expect(all.filter { $0.problem != nil }.map(\.line) == [1])
        #expect(all.last?.line == 150_001)
    }

    @Test("A line that is too long is one bad record", arguments: [1 << 16, 7 << 20])
    func tooLong(block: Int) {
        let text = Array(("a\n" + String(repeating: "x", count: 3 << 20) + "\nb\nc").utf8)
        let blocks = stride(from: 0, to: text.count, by: block).map { Array(text[$0..<min($0 + block, text.count)]) }
        for delimiter in [nil, Self.csv] {
            let records = cut(delimiter, blocks)
            #expect(records.map(\.line) == [1, 2, 3, 4])
            #expect(records.map { $0.problem != nil } == [false, true, false, false])
            #expect(records.map(\.text) == ["a", "", "b", "c"])
        }
    }

    @Test("Records do not depend on the block boundaries")
    func torn() {
        let texts = [
            "\u{feff}a\r\nb\n\n c \r\n\"d\ne\"", "h1,h2\r\n\"a\"\"b\nc\",d\r\n\r\n\"open,\nx,y\n,\"\"\n",
            "\"\"\"\n\"\n\"",
            "a\tb\n\"c\td\"\n", "\n\n\n", "\r\n\r", "\"a\"b,c\n\"d",
        ]
        for text in texts.map({ Array($0.utf8) }) {
            for delimiter in [nil, Self.csv, 9] {
                let whole = cut(delimiter, [text])
                for at in 0...text.count {
                    #expect(cut(delimiter, [Array(text[..<at]), Array(text[at...])].filter { !$0.isEmpty }) == whole)
                }
                #expect(cut(delimiter, text.map { [$0] }) == whole)
            }
        }
    }

    @Test("Random input loses no byte and counts lines correctly")
    func random() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("\"\",,\n\n\r\tab#".utf8)
        for _ in 0..<3000 {
            let text = (0..<Int.random(in: 0..<60, using: &generator)).map { _ in
                alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
            }
            for delimiter in [nil, Self.csv] {
                var splitter = RecordSplitter(delimiter: delimiter)
                var records: [ListRecord] = []
                var rest = text[...]
                while !rest.isEmpty {
                    let count = Int.random(in: 1...rest.count, using: &generator)
                    records += splitter.take(Array(rest.prefix(count)))
                    rest = rest.dropFirst(count)
                }
                records += splitter.end()
                #expect(records.flatMap(\.bytes) == text)
                var line = 1
                for record in records {
                    #expect(record.line == line)
                    line += record.bytes.count { $0 == 0x0a } + (delimiter != nil && record.bytes.last == 0x0d ? 1 : 0)
                }
            }
        }
    }

    @Test("Records over the limit are refused at the same place")
    func longRecords() {
        let quoted = "url\n\"" + String(repeating: "x23456789\n", count: 140_000) + "\",y\nz\n"
        let text = Array(quoted.utf8)
        let whole = cut(Self.csv, [text])
        for block in [1 << 16, 100_003, 1 << 20] {
            let blocks = stride(from: 0, to: text.count, by: block).map {
                Array(text[$0..<min($0 + block, text.count)])
            }
            #expect(cut(Self.csv, blocks) == whole)
        }
        #expect(whole[1].problem != nil && whole.last?.text == "z")
    }
}

extension RecordSplitter {
    /// The records that end in these bytes.
    mutating func take(_ bytes: [UInt8]) -> [ListRecord] {
        feed(bytes)
        return rest()
    }

    /// The records that are left at the end.
    mutating func end() -> [ListRecord] {
        finish()
        return rest()
    }

    private mutating func rest() -> [ListRecord] {
        var records: [ListRecord] = []
        while let record = next() { records.append(record) }
        return records
    }
}
