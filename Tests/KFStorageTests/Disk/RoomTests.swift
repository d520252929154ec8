import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("Room on the disk", .bounded)
final class RoomTests: DiskSuite {
    @Test("The reserve is released when the disk is full")
    func reserve() async throws {
        let storage = try fixture.open()
        try await storage.put("x", "k")
        let reserve = "\(fixture.root)/v1/reserve"
        var status = stat()
        try #require(stat(reserve, &status) == 0)
        #expect(status.st_blocks * 512 >= 128 << 10 && status.st_size == 128 << 10)
        let directory = storage.session.directory
        var calls = 0
        let full = StorageError.system(call: "write", path: "x", errno: ENOSPC)
        let value = try directory.sparing { () throws(StorageError) in
            calls += 1
            guard access(reserve, F_OK) != 0 else { throw full }
            return 7
        }
        #expect(value == 7 && calls == 2)
        // Without one there is nothing to try.
        calls = 0
        #expect(throws: full) {
            try directory.sparing { () throws(StorageError) in
                calls += 1
                throw full
            }
        }
        #expect(calls == 1)
        // Another failure does not cost it.
        try fixture.open().session.directory.growReserve(stored: 1)
        let other = StorageError.system(call: "write", path: "x", errno: EIO)
        #expect(throws: other) { try directory.sparing { () throws(StorageError) in throw other } }
        #expect(access(reserve, F_OK) == 0)
    }

    @Test("The reserve is an eighth of the stored size")
    func reserveSize() async throws {
        let directory = try fixture.open().session.directory
        func size() -> Int64? {
            var status = stat()
            return stat("\(fixture.root)/v1/reserve", &status) == 0 ? Int64(status.st_size) : nil
        }
        directory.growReserve(stored: 0)
        #expect(size() == nil)
        let growing: [(stored: Int64, size: Int64)] = [
            (1, 128 << 10), (2 << 20, 256 << 10), (10 << 20, 1 << 20), (4 << 20, 1 << 20), (32 << 20, 4 << 20),
            (5 << 30, 4 << 20),
        ]
        for step in growing {
            directory.growReserve(stored: step.stored)
            #expect(size() == step.size, "\(step)")
        }
        // Another process that finds it large enough leaves it alone.
        let other = try fixture.open().session.directory
        other.growReserve(stored: 1)
        #expect(size() == 4 << 20)
        other.shrinkReserve(stored: 3 << 20)
        #expect(size() == 256 << 10)
        other.shrinkReserve(stored: 0)
        #expect(size() == nil)
        // What a full disk has taken is not taken back by the same process.
        #expect(!other.giveUpReserve())
        other.growReserve(stored: 5 << 30)
        #expect(size() == nil)
    }

    @Test("A full disk makes a cache over its limit evict")
    func makesRoom() async throws {
        let storage = try fixture.open()
        for index in 0..<20 { try await storage.put("content \(index)", "k\(index)") }
        let stored = try storage.storedSize()
        let roomy = try fixture.open { $0.sizeLimit = stored }
        #expect(try !roomy.makeRoom(since: roomy.evictionCount))
        #expect(try roomy.storedSize() == stored)
        let told = NoticeBox()
        let tight = try fixture.open {
            $0.sizeLimit = stored - 1
            $0.evicting = { body throws(StorageError) in
                let removal = try body(nil)
                told.add("\(removal.entries)")
                return removal
            }
        }
        let before = tight.evictionCount
        #expect(try tight.makeRoom(since: before))
        #expect(told.all.compactMap { Int($0) }.first ?? 0 >= 10)
        #expect(try tight.storedSize() <= stored / 2)
        // For a store that began before that, there is room now; for the next one there is nothing to do.
        #expect(try tight.makeRoom(since: before))
        #expect(try !tight.makeRoom(since: tight.evictionCount))
    }

    @Test("A store over the limit evicts before it ends")
    func overLimit() async throws {
        let storage = try fixture.open { $0.sizeLimit = 50 }
        for index in 0..<3 {
            try await storage.put("the bytes of image \(index)", "\(index)")
            fixture.time.advance(seconds: 1)
        }
        #expect(try storage.storedSize() <= 25)
        #expect(try storage.evictionCount == 1 && storage.text("2") == "the bytes of image 2")
    }

    @Test(
        "Only certain errors mean a full disk",
        arguments: [
            (StorageError.system(call: "write", path: "", errno: ENOSPC), true),
            (.system(call: "write", path: "", errno: EDQUOT), true),
            (.system(call: "write", path: "", errno: EIO), false),
            (.cannotCreateDirectory(path: "", errno: ENOSPC), true),
            (.cannotCreateDirectory(path: "", errno: EACCES), false),
            (.database(path: "", code: 13, message: ""), true),
            (.database(path: "", code: 4874, message: ""), true), (.database(path: "", code: 10, message: ""), false),
            (.readOnly(path: ""), false),
        ])
    func full(_ error: StorageError, _ isFull: Bool) { #expect(error.isDiskFull == isFull) }

    @Test("Orphaned files are removed and entries' files stay")
    func orphans() async throws {
        let storage = try fixture.open()
        for index in 0..<20 { try await storage.put("content \(index)", "k\(index)") }
        let known = try fixture.objects()
        for name in known {
            let folder = "\(fixture.root)/v1/objects/\(name.prefix(2))"
            try "stray".write(toFile: "\(folder)/stray.png", atomically: false, encoding: .utf8)
        }
        try storage.sweepOrphans(from: 200, count: 256)
        #expect(try fixture.objects() == known)
        for index in 0..<20 { #expect(try storage.text("k\(index)") == "content \(index)") }
    }

    @Test("A sweep of some folders leaves the others")
    func someFolders() async throws {
        let storage = try fixture.open()
        for folder in ["00", "ff", "10"] {
            let path = "\(fixture.root)/v1/objects/\(folder)"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            try "stray".write(toFile: "\(path)/stray.png", atomically: false, encoding: .utf8)
        }
        try storage.sweepOrphans(from: 255, count: 2)
        #expect(try fixture.objects() == ["10/stray.png"])
    }

    @Test("Objects of a broken index are swept later")
    func aside() async throws {
        _ = try fixture.open()
        let aside = "\(fixture.root)/v1/tmp/objects.broken-1700000000000"
        try FileManager.default.createDirectory(atPath: "\(aside)/ab", withIntermediateDirectories: true)
        try "object".write(toFile: "\(aside)/ab/cd.png", atomically: false, encoding: .utf8)
        let precious = fixture.directory.url.appendingPathComponent("precious").path
        try FileManager.default.createDirectory(atPath: precious, withIntermediateDirectories: false)
        try "x".write(toFile: "\(precious)/file", atomically: false, encoding: .utf8)
        #expect(symlink(precious, "\(aside)/link") == 0)
        try await fixture.open().put("x", "k")
        #expect(!FileManager.default.fileExists(atPath: aside))
        #expect(FileManager.default.fileExists(atPath: "\(precious)/file"))
    }
}
