import Foundation
import Support

@testable import KFStorage

/// A cache in a directory of its own, with a clock that the test moves.
struct DiskStorageFixture {
    let directory: TemporaryDirectory
    let time = TestClock()

    init() throws { directory = try TemporaryDirectory() }

    var root: String { directory.url.appendingPathComponent("cache").path }

    func open(_ change: (inout DiskStorage.Configuration) -> Void = { _ in }) throws -> DiskStorage {
        var configuration = DiskStorage.Configuration(path: root)
        configuration.clock = time.clock
        change(&configuration)
        return try DiskStorage(configuration)
    }

    /// The objects' files, as paths below the directory of objects.
    func objects() throws -> [String] {
        let base = URL(filePath: root).appending(path: "v1/objects")
        return try FileManager.default.subpathsOfDirectory(atPath: base.path).filter { $0.contains("/") }.sorted()
    }

    func leftovers() throws -> [String] {
        TemporaryDirectory.files(in: URL(filePath: "\(root)/v1/tmp"))
    }
}

extension DiskStorage {
    @discardableResult
    func put(
        _ text: String, _ key: String, identifier: String = "", _ change: (inout EntryFacts) -> Void = { _ in }
    ) async throws -> Entry? {
        var facts = EntryFacts()
        facts.host = "example.com"
        facts.format = "png"
        facts.fileExtension = "png"
        change(&facts)
        let bytes = Array(text.utf8)
        let staged = try bytes.withUnsafeBytes { try stage($0) }
        return try await store(staged, for: EntryKey(key: key, identifier: identifier), facts, urgent: true)
    }

    /// The text under a key, if there is a fresh and whole one.
    func text(_ key: String, identifier: String = "") throws -> String? {
        guard let entry = try entry(for: EntryKey(key: key, identifier: identifier)), !entry.isExpired(at: now()),
            let file = try open(entry)
        else { return nil }
        noteHit(entry, extending: nil)
        return String(decoding: try file.readAll(), as: UTF8.self)
    }
}
