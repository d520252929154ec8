import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Cache verification")
    final class CacheVerifyTests: CommandSuite {
        private func fill() async throws -> [String] {
            let names = ["png/grey.png", "png/rgb.png", "jpeg/grey.jpg"]
            let result = try await kf.run(["fetch"] + names.map(FixturesDirectory.path))
            try #require(result.status == 0, "\(result)")
            return result.outputLines
        }

        private func overwrite(_ path: String) throws {
            let size = try Data(contentsOf: URL(fileURLWithPath: path)).count
            try FileManager.default.removeItem(atPath: path)
            try Data(count: size).write(to: URL(fileURLWithPath: path))
        }

        @Test("A sound cache has no damage, in words and JSON")
        func sound() async throws {
            _ = try await fill()
            let words = try await kf.run("cache", "verify")
            #expect(words.status == 0, "\(words)")
            #expect(words.output.hasPrefix("checked 3 entries and 3 files, "), "\(words)")
            #expect(words.output.contains("no damage"), "\(words)")
            let object = try #require(try await kf.run("cache", "verify", "--json").objects().last)
            #expect(object["clean"] as? Bool == true && object["files"] as? Int == 3)
            #expect(try await kf.run("cache", "verify", "-q").output.isEmpty)
        }

        @Test("Damage is reported, and repaired only on request")
        func damage() async throws {
            let paths = try await fill()
            try overwrite(paths[0])
            try FileManager.default.removeItem(atPath: paths[1])
            let found = try await kf.run("cache", "verify")
            #expect(found.status == 1, "\(found)")
            #expect(found.output.contains("wrong_content: \(paths[0])"), "\(found)")
            #expect(found.output.contains("missing_file: \(paths[1])"), "\(found)")
            let objects = try await kf.run("cache", "verify", "--json").objects()
            #expect(objects.count == 3)
            #expect(objects.last?["damage"] as? Int == 2 && objects.last?["exit_status"] as? Int == 1)
            let repaired = try await kf.run("cache", "verify", "--repair")
            #expect(repaired.status == 0, "\(repaired)")
            #expect(repaired.output.contains("all removed") && repaired.output.contains("; removed"), "\(repaired)")
            #expect(try await kf.run("cache", "verify").output.contains("checked 1 entry and 1 file"))
            #expect(kf.cachedObjects().count == 1)
        }

        @Test("An orphan file is reported but is not damage")
        func orphan() async throws {
            let paths = try await fill()
            let stray = URL(fileURLWithPath: paths[0]).deletingLastPathComponent().appendingPathComponent("stray.png")
            try Data(count: 7).write(to: stray)
            let found = try await kf.run("cache", "verify", "--json")
            #expect(found.status == 0, "\(found)")
            let objects = try found.objects()
            #expect(objects.first?["kind"] as? String == "orphan" && objects.first?["damage"] as? Bool == false)
            #expect(objects.last?["clean"] as? Bool == false && objects.last?["damage"] as? Int == 0)
            #expect(FileManager.default.fileExists(atPath: stray.path))
            #expect(try await kf.run("cache", "verify", "--repair").status == 0)
            #expect(!FileManager.default.fileExists(atPath: stray.path))
        }

        @Test("Repairing sets aside an index that is not a database")
        func brokenIndex() async throws {
            _ = try await fill()
            let index = kf.cacheDirectory.appendingPathComponent("v1/index.sqlite")
            try Data(repeating: 0x41, count: 8192).write(to: index)
            let found = try await kf.run("cache", "verify", "--json")
            #expect(found.status == 1, "\(found)")
            #expect(try found.objects().first?["kind"] as? String == "damaged_index", "\(found)")
            let repaired = try await kf.run("cache", "verify", "--repair")
            #expect(repaired.status == 0 && repaired.output.contains("damaged_index"), "\(repaired)")
            #expect(try await kf.run("cache", "verify").output.contains("no damage"))
        }

        @Test("Repairing a damaged index keeps its readable entries")
        func damagedPage() async throws {
            _ = try await fill()
            // A number where SQLite would have made a text of it.
            let edit =
                "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'name TEXT', 'name BLOB')"
            let undo =
                "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'name BLOB', 'name TEXT')"
            for sql in [edit, "UPDATE formats SET name = 7 WHERE name = 'jpeg'", undo] {
                try await kf.changeIndex(sql)
            }
            let found = try await kf.run("cache", "verify", "--json")
            #expect(found.status == 1, "\(found)")
            #expect(try found.objects().first?["kind"] as? String == "damaged_index", "\(found)")
            let repaired = try await kf.run("cache", "verify", "--repair")
            #expect(repaired.status == 0, "\(repaired)")
            #expect(repaired.errors.contains("2 of its entries could be read and are kept"), "\(repaired)")
            // The file that no entry knows any more has gone with it.
            #expect(try await kf.run("cache", "verify").output.contains("checked 2 entries and 2 files"))
            #expect(kf.cachedObjects().count == 2)
        }

        @Test(
            "A damaged database header is repaired by any command",
            arguments: [true, false])
        func header(repairs: Bool) async throws {
            let paths = try await fill()
            let index = kf.cacheDirectory.appendingPathComponent("v1/index.sqlite")
            try await kf.changeIndex("PRAGMA wal_checkpoint(TRUNCATE)")
            var data = try Data(contentsOf: index)
            data[47] ^= 0x40
            try data.write(to: index)
            if repairs {
                #expect(try await kf.run("cache", "verify", "--repair").status == 0)
                #expect(kf.cachedObjects() == [])
            } else {
                let result = try await kf.run("fetch", FixturesDirectory.path("png/grey.png"))
                #expect(result.status == 0 && result.errors.contains("was damaged; it was moved to"), "\(result)")
                #expect(paths.allSatisfy { FileManager.default.fileExists(atPath: $0) })
            }
            #expect(try await kf.run("cache", "verify").status == 0)
        }

        @Test("A store that meets a damaged row repairs the index")
        func storing() async throws {
            let names = ["png/grey.png", "png/rgb.png", "jpeg/grey.jpg"].map(FixturesDirectory.path)
            _ = try await fill()
            try await kf.changeIndex("DELETE FROM entries WHERE key LIKE '%/rgb.png%'")
            let result = try await kf.run(["fetch", "--json"] + names)
            #expect(result.status == 0 && result.errors.contains("was damaged; it was moved to"), "\(result)")
            let reports = try result.objects().filter { $0["source"] != nil }
            #expect(reports.count == 3)
            for report in reports {
                let path = try #require(report["path"] as? String, "\(report)")
                #expect(FileManager.default.fileExists(atPath: path), "\(report)")
            }
            #expect(try await kf.run("cache", "verify").output.contains("checked 3 entries and 3 files"))
        }

        @Test("A read-only command explains how to repair the index")
        func advice() async throws {
            _ = try await fill()
            try await kf.changeIndex("DELETE FROM totals")
            let refused = try await kf.run("cache", "stat")
            #expect(refused.status == 3, "\(refused)")
            #expect(
                refused.errors.contains("is damaged: its sums are missing (to repair it: kf cache verify --repair)"))
            #expect(try await kf.run("cache", "verify", "--repair").status == 0)
            #expect(try await kf.run("cache", "stat").status == 0)
        }

        @Test("A missing cache is not damaged, and verifying creates none")
        func nothing() async throws {
            let result = try await kf.run("cache", "verify", "--repair")
            #expect(result.status == 0 && result.output.contains("no cache yet"), "\(result)")
            #expect(TemporaryDirectory.files(in: kf.cacheDirectory) == [])
        }
    }
}
