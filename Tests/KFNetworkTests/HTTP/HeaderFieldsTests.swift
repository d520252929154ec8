import KFSystem
import Testing

@testable import KFNetwork

@Suite("Header fields")
struct HeaderFieldsTests {
    private func parse(_ lines: [[UInt8]]) throws -> HeaderFields {
        var parser = HeadParser()
        for line in [Array("HTTP/1.1 200 OK\r\n".utf8)] + lines + [Array("\r\n".utf8)] {
            if let (_, fields) = try line.withUnsafeBytes({ try parser.accept($0) }) { return fields }
        }
        throw TransferError.badHeaders(detail: "no end")
    }

    private func parse(_ lines: String...) throws -> HeaderFields {
        try parse(lines.map { Array(($0 + "\r\n").utf8) })
    }

    @Test("Names compare without case") func names() throws {
        let fields = try parse("ETag: \"A\"", "X-a:  1 ", "x-A:2", "Empty:")
        #expect(fields["etag"] == "\"A\"")
        #expect(fields.all("X-A") == ["1", "2"])
        #expect(fields["empty"] == "")
        #expect(fields["missing"] == nil)
        #expect(fields.count == 4)
    }

    @Test("Folded lines are joined") func folded() throws {
        #expect(try parse("A: one", "  two \t", "\tthree", "B: x")["a"] == "one two three")
        #expect(throws: TransferError.self) { try parse(" two") }
    }

    @Test("Bytes other than UTF-8 are read as Latin-1") func latin1() throws {
        let latin = try parse([Array("A: caf".utf8) + [0xe9, 0x0d, 0x0a]])
        #expect(latin["A"] == "café")
        #expect(try parse("A: café")["a"] == "café")
    }

    @Test("Validators keep their bytes") func bytes() throws {
        let fields = try parse([Array("ETag: \"".utf8) + [0xe9, 0xf4, 0x8f, 0xbe, 0x80, 0x22, 0x0d, 0x0a]])
        let tag = try #require(fields[.etag])
        #expect(RawText.bytes(tag) == [0x22, 0xe9, 0xf4, 0x8f, 0xbe, 0x80, 0x22])
        #expect(fields.lines(of: [.etag]) == "etag: \(tag)" && fields.all("ETag").first?.hasPrefix("\"é") == true)
    }

    @Test(
        "Malformed lines are refused",
        arguments: ["no colon", "colonless", ": no name", "a b: c", "cache\rcontrol: no-store"])
    func malformed(_ line: String) {
        #expect(throws: TransferError.self) { try parse(line) }
    }

    /// Fields are sorted out by their length and some of their letters first.
    @Test("Similar names are distinct") func similar() throws {
        let fields = try parse("Cantent-Langth: 1", "CONTENT-length: 2", "Transfer_Encoding: x")
        #expect(fields.all("Content-Length") == ["2"])
        #expect(fields.plainNumber(.contentLength) == 2)
        #expect(!fields.contains(.transferEncoding))
        #expect(fields["transfer_encoding"] == "x")
    }

    @Test("Values are searched without case") func letters() throws {
        let fields = try parse("Connection: Keep-Alive, CLOSE", "Other: close")
        #expect(fields.contains(.connection, letters: "close"))
        #expect(fields.contains(.connection, letters: "keep-alive"))
        #expect(!fields.contains(.connection, letters: "closed"))
        #expect(!fields.contains(.contentLength, letters: "close"))
    }
}
