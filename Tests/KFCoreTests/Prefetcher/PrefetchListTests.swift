import CZlib
import Foundation
import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFLists
@testable import KFPipeline

@Suite("Reading lists", .bounded)
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

    private func lines(_ range: Range<Int>) -> String { range.map { "http://h/\($0)\n" }.joined() }

    @Test("blocks do not cut lines, plain or packed")
    func blocks() async throws {
        let text = lines(0..<20_000)
        let expected = (0..<20_000).map { "\($0 + 1) \($0 + 1) http://h/\($0)" }
        #expect(try await read([("a", Data(text.utf8))]).lines == expected)
        #expect(try await read([("a", try gzip(text))]).lines == expected)
    }

    @Test("the members of a gzip file are one list")
    func members() async throws {
        let data = try gzip(lines(0..<3)) + gzip("") + gzip(lines(3..<5))
        #expect(try await read([("a.gz", data)]).lines.count == 5)
    }

    @Test("wherever a gzip list is torn, its whole lines are taken and the tear is an error with its line")
    func tornGzip() async throws {
        let data = try gzip((0..<40).map { "http://h/\($0 * 7919)\n" }.joined())
        for length in 1..<data.count {
            let (lines, problems) = try await read([("a.gz", data.prefix(length))])
            #expect(problems.count == 1, "\(length) of \(data.count): \(problems)")
            #expect(problems.first?.contains("in line \(lines.count + 1)") == true, "\(problems) after \(lines.count)")
        }
        #expect(try await read([("a.gz", data)]).problems.isEmpty)
    }

    @Test("damage inside a gzip list is an error, and the next list is read")
    func damagedGzip() async throws {
        var data = try gzip(lines(0..<5000))
        for index in (data.count / 2)..<(data.count / 2 + 20) { data[index] ^= 0x5a }
        let (lines, problems) = try await read([("a.gz", data), ("b", Data(lines(0..<2).utf8))])
        #expect(problems.count == 1 && problems[0].contains("a.gz"), "\(problems)")
        #expect(lines.suffix(2).map { $0.split(separator: " ").last } == ["http://h/0", "http://h/1"])
    }

    @Test("a list that is not there is named, and the others are read")
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

    @Test("how many items there will be is told from what was read")
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

    @Test("after the end of a run a regular file is read on, and of a pipe what has come in whole lines")
    func finishing() async throws {
        let fifo = directory.path("fifo").path
        #expect(mkfifo(fifo, 0o600) == 0)
        let descriptor = open(fifo, O_RDWR)
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

    @Test("the end of a run ends the wait for a pipe, whose unfinished line is no item")
    func finishingPipe() async throws {
        let path = directory.path("fifo").path
        #expect(mkfifo(path, 0o600) == 0)
        let descriptor = open(path, O_RDWR)
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

    @Test("lists that cannot be read are named before anything begins")
    func unreadable() throws {
        let there = try directory.write("there", "http://h/a\n").path
        let problems = PrefetchLists.unreadable([there, directory.path("missing").path, directory.url.path])
        #expect(problems.count == 2 && problems[0].message.contains("missing: No such file"), "\(problems)")
        #expect(problems[1].message.hasSuffix("Is a directory"), "\(problems)")
    }

    @Test("an object with very many URLs is read block by block")
    func manyURLs() async throws {
        let object = "{\"url\":[" + Array(repeating: "\"h\"", count: 100_000).joined(separator: ",") + "]}\n"
        let path = try directory.write("a.jsonl", object + object).path
        var options = ListOptions()
        options.urlColumn = .name("url[]")
        let lists = try PrefetchLists(paths: [path], options: options)
        var count = 0
        while case .items(let items) = await lists.next() {
            #expect(items.count <= 512)
            count += items.count
        }
        #expect(count == 200_000)
    }

    @Test("closing ends the wait for a pipe that says nothing")
    func closing() async throws {
        let path = directory.path("fifo").path
        #expect(mkfifo(path, 0o600) == 0)
        let descriptor = open(path, O_RDWR)
        defer { close(descriptor) }
        let lists = try PrefetchLists(paths: [path])
        async let reading = lists.next()
        lists.close()
        guard case .end = await reading else {
            Issue.record("there is more to read")
            return
        }
    }

    @Test("bytes that are not UTF-8 are kept as escapes")
    func bytes() {
        #expect(PercentCoding.text(Array("http://h/ä".utf8)[...]) == "http://h/ä")
        #expect(PercentCoding.text((Array("http://h/".utf8) + [0xff])[...]) == "http://h/%FF")
    }
}
