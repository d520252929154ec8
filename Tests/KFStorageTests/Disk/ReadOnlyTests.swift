import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("Indexes that can only be read", .bounded)
final class ReadOnlyTests: DiskSuite {
    @Test(
        "Some errors mean that a place cannot be written",
        arguments: [
            (StorageError.system(call: "open", path: "", errno: EROFS), true),
            (.system(call: "open", path: "", errno: EACCES), true),
            (.system(call: "open", path: "", errno: EPERM), true),
            (.system(call: "open", path: "", errno: ENOSPC), false),
            (.cannotCreateDirectory(path: "", errno: EACCES), true),
            (.database(path: "", code: 8, message: ""), true), (.database(path: "", code: 264, message: ""), true),
            (.database(path: "", code: 13, message: ""), false), (.readOnly(path: ""), true),
        ])
    func readOnly(_ error: StorageError, _ isReadOnly: Bool) { #expect(error.isReadOnly == isReadOnly) }

    @Test("A log without shared memory is read in a copy")
    func copied() async throws {
        let storage = try fixture.open()
        try await storage.put("folded", "a")
        storage.writer.flush(truncating: true)
        try await storage.put("in the log", "b")
        let before = try copies()
        let connection = try IndexCopy.open(storage.session.directory)
        #expect(try connection.entry(EntryKey(key: "a")) != nil)
        #expect(try connection.entry(EntryKey(key: "b")) != nil)
        #expect(throws: StorageError.self) { try connection.execute("DELETE FROM entries") }
        #expect(try copies() == before)
        // It is a copy: what is stored later is not in it.
        try await storage.put("later", "c")
        #expect(try connection.entry(EntryKey(key: "c")) == nil)
        #expect(try storage.text("b") == "in the log")
    }

    @Test("A restarted log belongs to another version of the index")
    func state() async throws {
        let storage = try fixture.open()
        try await storage.put("x", "a")
        let directory = storage.session.directory
        let first = try IndexCopy.Version(directory)
        try await storage.put("y", "b")
        #expect(try IndexCopy.Version(directory) == first)
        storage.writer.flush(truncating: true)
        try await storage.put("z", "c")
        #expect(try IndexCopy.Version(directory) != first)
    }

    private func copies() throws -> [String] {
        let base = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        return try FileManager.default.contentsOfDirectory(atPath: base).filter {
            $0.hasPrefix("kf-index-")
        }.sorted()
    }
}
