import Foundation
import Glibc
import Support
import Synchronization
import Testing

@testable import KFStorage

@Suite("The marker of a cache directory", .bounded)
final class MarkerTests: DiskSuite {
    private var tag: String { "\(fixture.root)/CACHEDIR.TAG" }

    private func existing() throws -> DiskStorage { try fixture.open { $0.access = .existing } }

    private func isSigned() throws -> Bool {
        try String(contentsOfFile: tag, encoding: .utf8).hasPrefix("Signature: 8a477f597d28d172789f06886806bc55\n")
    }

    enum Loss: CaseIterable { case missing, empty, zeros, torn, link, directory }

    private func lose(_ loss: Loss) throws {
        let text = try Data(contentsOf: URL(fileURLWithPath: tag))
        try FileManager.default.removeItem(atPath: tag)
        switch loss {
        case .missing: break
        case .empty: try Data().write(to: URL(fileURLWithPath: tag))
        case .zeros: try Data(count: text.count).write(to: URL(fileURLWithPath: tag))
        case .torn: try text.prefix(20).write(to: URL(fileURLWithPath: tag))
        case .link: #expect(symlink(fixture.directory.path("elsewhere").path, tag) == 0)
        case .directory: try FileManager.default.createDirectory(atPath: tag, withIntermediateDirectories: false)
        }
    }

    @Test("A damaged marker is rewritten by the next open", arguments: Loss.allCases)
    func healed(_ loss: Loss) async throws {
        try await fixture.open().put("content", "k")
        try lose(loss)
        #expect(try existing().text("k") == "content")
        // A directory in its place is left alone, and does not matter.
        if loss != .directory { #expect(try isSigned()) }
        #expect(!FileManager.default.fileExists(atPath: fixture.directory.path("elsewhere").path))
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.root).sorted() == ["CACHEDIR.TAG", "v1"])
    }

    @Test("A cache with a broken index is still recognised", arguments: [Loss.missing, .empty])
    func brokenIndex(_ loss: Loss) async throws {
        try await fixture.open().put("content", "k")
        try lose(loss)
        try "broken".write(toFile: "\(fixture.root)/v1/index.sqlite", atomically: false, encoding: .utf8)
        #expect(try existing().totals().entries == 0)
        #expect(try isSigned())
    }

    @Test("Reading a cache leaves its marker unchanged")
    func readOnly() async throws {
        try await fixture.open().put("content", "k")
        try lose(.missing)
        let storage = try fixture.open {
            $0.access = .existing
            $0.readOnly = true
        }
        #expect(try storage.text("k") == "content")
        #expect(!FileManager.default.fileExists(atPath: tag))
    }

    private static let strangers = [
        ["notes.txt": "x"], ["CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n# of another program\n"],
        ["v1/data": "x"], ["v1/objects/ab/file": "x"], ["v1/index.sqlite": "SQLite format 3\0"],
        ["v1/lock": "", "v1/flights": "", "v1/objects/x": "", "photos/one.jpg": "x"],
        ["v1/lock": "", "v1/flights": "", "v1/objects/x": "", "v1/thesis": "x"],
    ]

    @Test("A directory with other files is refused and left unchanged", arguments: strangers)
    func stranger(_ files: [String: String]) throws {
        for (name, text) in files { try fixture.directory.write("cache/\(name)", text) }
        let before = TemporaryDirectory.files(in: URL(fileURLWithPath: fixture.root))
        for access in [CacheDirectory.Access.create, .existing] {
            let error = #expect(throws: StorageError.self) { try fixture.open { $0.access = access } }
            #expect(error == .notACache(path: fixture.root))
        }
        #expect(TemporaryDirectory.files(in: URL(fileURLWithPath: fixture.root)) == before)
    }

    @Test(
        "An empty or barely begun directory becomes a cache",
        arguments: [
            [], ["lost+found/x"], ["CACHEDIR.TAG"], ["CACHEDIR.TAG.123-4"], ["CACHEDIR.TAG", "CACHEDIR.TAG.1-2"],
        ])
    func empty(_ names: [String]) async throws {
        try FileManager.default.createDirectory(atPath: fixture.root, withIntermediateDirectories: true)
        for name in names { try fixture.directory.write("cache/\(name)", "") }
        #expect(throws: StorageError.self) { try existing() }
        #expect(!FileManager.default.fileExists(atPath: "\(fixture.root)/v1"))
        try await fixture.open().put("content", "k")
        #expect(try isSigned())
        #expect(try existing().text("k") == "content")
    }

    @Test("Processes that create one cache at once all get it")
    func together() async throws {
        try await concurrently(16) { [fixture] index in try await fixture.open().put("text \(index)", "k\(index)") }
        #expect(try existing().totals().entries == 16)
        #expect(try isSigned())
    }

    @Test("A cache that another process has begun is recognised")
    func begun() throws {
        let failures = Mutex<[String]>([])
        for round in 0..<1000 {
            let path = fixture.directory.path("begun-\(round)").path
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            let root = try FileDescriptor.open(path, O_RDONLY | O_DIRECTORY, shown: path)
            let marker = CacheMarker(root: root.raw, path: path)
            DispatchQueue.concurrentPerform(iterations: 2) { index in
                do {
                    if index == 0 {
                        // The same order as that of a process that makes a cache.
                        try marker.write()
                        mkdirat(root.raw, "v1", 0o700)
                    } else {
                        for _ in 0..<50 where try marker.check() { break }
                    }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        #expect(failures.withLock { $0 } == [])
    }
}
