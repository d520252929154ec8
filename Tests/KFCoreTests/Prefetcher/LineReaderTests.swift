import Foundation
import KFStorage
import Testing

@testable import KFCore

@Suite("Reading lists")
struct LineReaderTests {
    private func lines(_ text: String) throws -> [String] {
        let path = NSTemporaryDirectory() + "/kf-\(UUID().uuidString)"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        defer { unlink(path) }
        var reader = LineReader(try FileDescriptor.open(path, O_RDONLY), bell: try Bell())
        var result: [String] = []
        while case let block = try reader.next(), !block.isEmpty {
            result += block.map { String(decoding: $0, as: UTF8.self) }
        }
        return result
    }

    @Test("Lines end with LF or CRLF, the last one with nothing")
    func ends() throws {
        #expect(try lines("a\nb\r\n\nc") == ["a", "b", "", "c"])
        #expect(try lines("") == [])
        #expect(try lines("\n") == [""])
        #expect(try lines("a\rb\n") == ["a\rb"])
    }

    @Test("Blocks do not cut lines")
    func blocks() throws {
        let expected = (0..<20_000).map { "line \($0) " + String(repeating: "x", count: $0 % 50) }
        #expect(try lines(expected.joined(separator: "\n")) == expected)
    }

    @Test("A line without end is an error, not all the memory")
    func endless() throws {
        #expect(throws: StorageError.self) {
            try lines(String(repeating: "x", count: LineReader.longestLine + 100_000))
        }
    }

    @Test("The bell ends a wait for a pipe that says nothing")
    func bell() async throws {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        let bell = try Bell()
        let reading = ends[0]
        let waiting = Task.detached {
            var reader = LineReader(FileDescriptor(taking: reading, path: "pipe"), bell: bell)
            return try reader.next()
        }
        bell.ring()
        #expect(try await waiting.value.isEmpty)
        close(ends[1])
    }

    @Test("Bytes that are not UTF-8 are kept as escapes")
    func bytes() {
        #expect(PercentCoding.text(Array("http://h/ä".utf8)) == "http://h/ä")
        #expect(PercentCoding.text(Array("http://h/".utf8) + [0xff]) == "http://h/%FF")
    }
}
