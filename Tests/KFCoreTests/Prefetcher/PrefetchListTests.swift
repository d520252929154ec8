import CZlib
import Foundation
import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFLists
@testable import KFPipeline

@Suite("The reader of lists", .bounded)
struct PrefetchListTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func gzip(_ text: String) throws -> Data {
        let path = directory.path("packed").path
        let file = try #require(gzopen(path, "wb"))
        let bytes = Array(text.utf8)
        #expect(bytes.withUnsafeBytes { gzwrite(file, $0.baseAddress, UInt32($0.count)) } == bytes.count)
        gzclose(file)
        return try Data(contentsOf: URL(fileURLWithPath: path))
    }

    /// What the lists say, and what is wrong with them.
    private func read(_ files: [(name: String, data: Data)]) async throws -> (lines: [String], problems: [String]) {
        let paths = try files.map { try directory.write($0.name, $0.data).path }
        let lists = try PrefetchLists(paths: paths)
        var result: (lines: [String], problems: [String]) = ([], [])
        while true {
            switch await lists.next() {
            case .end: return result
            case .broken(let error): result.problems.append(error.message)
            case .items(let items): result.lines += items.map { "\($0.number) \($0.line) \($0.text)" }
            }
        }
    }

    /// A named pipe with a writer.
    private func fifo() -> (path: String, descriptor: Int32) {
        let path = directory.path("fifo").path
        #expect(mkfifo(path, 0o600) == 0)
        return (path, open(path, O_RDWR))
    }

    private func lines(_ range: Range<Int>) -> String { range.map { "http://h/\($0)\n" }.joined() }

    @Test("Lines across blocks stay whole, plain or compressed")
    func blocks() async throws {
        let text = lines(0..<20_000)
        let expected = (0..<20_000).map { "\($0 + 1) \($0 + 1) http://h/\($0)" }
        #expect(try await read([("a", Data(text.utf8))]).lines == expected)
        #expect(try await read([("a", try gzip(text))]).lines == expected)
    }

    @Test("The members of a gzip file are one list")
    func members() async throws {
        let data = try gzip(lines(0..<3)) + gzip("") + gzip(lines(3..<5))
        #expect(try await read([("a.gz", data)]).lines.count == 5)
    }

    @Test("A torn gzip list yields its whole lines and an error")
    func tornGzip() async throws {
        let data = try gzip((0..<40).map { "http://h/\($0 * 7919)\n" }.joined())
        for length in 1..<data.count {
            let (lines, problems) = try await read([("a.gz", data.prefix(length))])
            #expect(problems.count == 1, "\(length) of \(data.count): \(problems)")
            #expect(problems.first?.contains("in line \(lines.count + 1)") == true, "\(problems) after \(lines.count)")
        }
        #expect(try await read([("a.gz", data)]).problems.isEmpty)
    }

    @Test("A damaged gzip list does not stop the next list")
    func damagedGzip() async throws {
        var data = try gzip(lines(0..<5000))
        for index in (data.count / 2)..<(data.count / 2 + 20) { data[index] ^= 0x5a }
        let (lines, problems) = try await read([("a.gz", data), ("b", Data(lines(0..<2).utf8))])
        #expect(problems.count == 1 && problems[0].contains("a.gz"), "\(problems)")
        #expect(lines.suffix(2).map { $0.split(separator: " ").last } == ["http://h/0", "http://h/1"])
    }

    @Test("A missing list does not stop the others")
    func missing() async throws {
        let there = try directory.write("there", "http://h/a\n").path
        let lists = try PrefetchLists(paths: [directory.path("missing").path, directory.url.path, there])
        var problems = 0
        while case .broken(let error) = await lists.next() {
            problems += 1
            #expect(error.message.contains(problems == 1 ? "missing" : directory.url.lastPathComponent))
        }
        #expect(problems == 2)
    }

    @Test("The number of items is estimated from the bytes read")
    func expected() async throws {
        let path = try directory.write("a", lines(0..<30_000)).path
        let lists = try PrefetchLists(paths: [path])
        #expect(lists.expectedItems == nil)
        _ = await lists.next()
        let guess = try #require(lists.expectedItems)
        #expect((25_000...35_000).contains(guess), "\(guess)")
        while case .items = await lists.next() {}
        #expect(lists.expectedItems == 30_000)
    }

    @Test("After the end of a run regular files are still read")
    func finishing() async throws {
        let (fifo, descriptor) = fifo()
        defer { close(descriptor) }
        let file = try directory.write("a", lines(0..<6_000)).path
        let lists = try PrefetchLists(paths: [file, fifo, fifo, file], longestRest: .seconds(120))
        guard case .items(let first) = await lists.next() else {
            Issue.record("nothing to read")
            return
        }
        lists.finish()
        var count = first.count
        var unread: Int?
        while unread == nil {
            switch await lists.next() {
            case .items(let items): count += items.count
            case .broken(let error): Issue.record("\(error)")
            case .end(let lists): unread = lists
            }
        }
        #expect(count == 12_000 && unread == 2)
    }

    @Test("The end of a run ends the wait for a pipe")
    func finishingPipe() async throws {
        let (path, descriptor) = fifo()
        defer { close(descriptor) }
        let bytes = Array("http://h/a\nhttp://h/b\nhttp://h/c".utf8)
        #expect(write(descriptor, bytes, bytes.count) == bytes.count)
        let lists = try PrefetchLists(paths: [path])
        guard case .items(let items) = await lists.next() else {
            Issue.record("nothing to read")
            return
        }
        #expect(items.map(\.text) == ["http://h/a", "http://h/b"])
        async let reading = lists.next()
        lists.finish()
        guard case .end(let unread) = await reading else {
            Issue.record("there is more to read")
            return
        }
        #expect(unread == 1)
    }

    @Test("Unreadable lists are named before the run begins")
    func unreadable() throws {
        let there = try directory.write("there", "http://h/a\n").path
        let problems = PrefetchLists.unreadable([there, directory.path("missing").path, directory.url.path])
        #expect(problems.count == 2 && problems[0].message.contains("missing: No such file"), "\(problems)")
        #expect(problems[1].message.hasSuffix("Is a directory"), "\(problems)")
    }

    @Test("An object with very many URLs is read in blocks")
    func manyURLs() async throws {
        let object = "{\"url\":[" + Array(repeating: "\"h\"", count: 100_000).joined(separator: ",") + "]}\n"
        let path = try directory.write("a.jsonl", object + object).path
        var options = ListOptions()
        options.urlColumn = .name("url[]")
        let lists = try PrefetchLists(paths: [path], options: options)
        var count = 0
        while case .items(let items) = await lists.next() {
            #expect(items.count <= 256)
            count += items.count
        }
        #expect(count == 200_000)
    }

    @Test("Closing ends the wait for a silent pipe")
    func closing() async throws {
        let (path, descriptor) = fifo()
        defer { close(descriptor) }
        let lists = try PrefetchLists(paths: [path])
        async let reading = lists.next()
        lists.close()
        guard case .end = await reading else {
            Issue.record("there is more to read")
            return
        }
    }

    @Test("Bytes other than UTF-8 are percent-encoded")
    func bytes() {
        #expect(PercentCoding.text(Array("http://h/ä".utf8)[...]) == "http://h/ä")
        #expect(PercentCoding.text((Array("http://h/".utf8) + [0xff])[...]) == "http://h/%FF")
    }
}
