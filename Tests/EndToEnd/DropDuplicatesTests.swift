import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Duplicates left out of shards")
    struct DropDuplicatesTests {
        let fixture: DataSet
        private var kf: KFCommand { fixture.kf }

        init() throws { fixture = try DataSet() }

        /// A server of a photograph, one that looks like it, its mirror image, and others. A number behind the name of one is
        /// its delay in milliseconds.
        private func server() async throws -> FaultServer {
            let photo = FixturesDirectory.url.appendingPathComponent("gallery.jpg")
            for (chain, name) in [("resize:200x", "like.png"), ("flip:h", "mirrored.png")] {
                let made = try await kf.run(
                    "fetch", photo.path, "-p", chain, "-f", "png", "-o", name, "--store", "none")
                try #require(made.status == 0, "\(made)")
            }
            let bodies = [
                "/photo": [UInt8](try Data(contentsOf: photo)), "/like": [UInt8](try kf.contents("like.png")),
                "/mirrored": [UInt8](try kf.contents("mirrored.png")),
            ]
            return try FaultServer { [fixture] request in
                if request.path == "/missing" { return [.reply("404 Not Found")] }
                let parts = request.path.split(separator: "-")
                let wait = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
                return [
                    .pause(.milliseconds(wait)),
                    .reply(body: bodies[String(parts[0])] ?? fixture.picture(String(parts[0]))),
                ]
            }
        }

        private static let paths = [
            "/photo-60", "/a", "/missing", "/mirrored-20", "/like-5", "/photo-1", "/a-9", "/b", "/like-3",
        ]
        private let command = ["prefetch", "list", "--shard-size", "4", "--retry", "0", "--json"]

        private func rows(_ directory: String) async throws -> [[String: Any]] {
            try await fixture.shards(directory).sorted { $0.key < $1.key }.flatMap(\.value.rows)
        }

        /// What became of each item of the list: kept, failed, or the number of the item that it is a duplicate of.
        private func outcome(_ directory: String) async throws -> [String] {
            let rows = try await rows(directory)
            return try rows.map { row in
                let status = row["status"] as? String ?? ""
                guard status == "duplicate" else { return status == "failed" ? status : "kept" }
                let text = try #require(row["left_out"] as? String)
                let first = rows.firstIndex {
                    ($0["sample"] as? String).map { text == "a duplicate of \($0)" } ?? false
                }
                return "\(try #require(first, "\(text)"))"
            }
        }

        @Test("The first of equal and similar images is kept, whichever arrives first")
        func dropped() async throws {
            let server = try await server()
            try fixture.write(Self.paths.map { server.url($0) })
            let equal = ["kept", "kept", "failed", "kept", "kept", "0", "1", "kept", "4"]
            // The pictures of the fixture differ in their bytes alone.
            let near = ["kept", "kept", "failed", "kept", "0", "0", "1", "1", "0"]
            for (rule, expected) in [(["--drop-duplicates"], equal), (["--drop-duplicates", "4"], near)] {
                let name = "\(rule.count)"
                for jobs in ["1", "32"] {
                    let directory = "data\(name)-\(jobs)"
                    let run = try await kf.run(
                        command + rule + ["--shards", directory, "-j", jobs, "--cache-dir", "cache-\(directory)"])
                    #expect(run.status == 1, "\(run)")
                    #expect(try await outcome(directory) == expected, "\(rule)")
                    let dropped = expected.count { Int($0) != nil }
                    #expect(try run.objects().last?["duplicates"] as? Int == dropped, "\(run)")
                    let counts = try (0..<3).map {
                        try fixture.statistics("0000\($0)", in: directory)["duplicates"] as? Int
                    }
                    #expect(counts.compactMap(\.self).reduce(0, +) == dropped)
                    for shard in 0..<3 {
                        let archive = "0000\(shard).tar"
                        #expect(try kf.contents("\(directory)/\(archive)") == kf.contents("data\(name)-1/\(archive)"))
                    }
                }
            }
            let other = try await kf.run(command + ["--shards", "data1-1", "--drop-duplicates", "2"])
            #expect(other.status == 3 && other.errors.contains("without duplicates"), "\(other)")
        }

        @Test("A repeated run compares with the images of whole shards")
        func repeated() async throws {
            let server = try await server()
            try fixture.write(Self.paths.map { server.url($0) })
            let command = command + ["--shards", "data", "--drop-duplicates", "4", "--results", "rows.csv"]
            #expect(try await kf.run(command).status == 1)
            let (before, archive) = (try await outcome("data"), try kf.contents("data/00001.tar"))
            try fixture.remove("data/00001.tar")
            let again = try await kf.run(command)
            #expect(try again.status == 1 && again.objects().last?["duplicates"] as? Int == 5, "\(again)")
            #expect(try await outcome("data") == before && before.count { $0 == "0" } == 3)
            #expect(try kf.contents("data/00001.tar") == archive)
            let results = String(decoding: try kf.contents("rows.csv"), as: UTF8.self)
            #expect(results.split(separator: "\n").count { $0.contains(",a duplicate of 0") } == 5, "\(results)")
        }

        @Test("An image that waits for its host holds up no place in flight")
        func openCircuit() async throws {
            let server = try await server()
            let down = (0..<14).map { "http://127.0.0.1:1/\($0)" }
            try fixture.write(down + (0..<20).map { server.url("/\($0)") })
            let run = try await kf.run(
                command + ["--shards", "data", "--drop-duplicates", "-j", "2", "--max-per-host", "2"])
            #expect(run.status == 1, "\(run)")
            let outcome = try await outcome("data")
            #expect(outcome.count { $0 == "failed" } == 14 && outcome.count { $0 == "kept" } == 20, "\(outcome)")
        }

        @Test("The option needs shards, and takes 0 to 11 bits")
        func wrongUse() async throws {
            try fixture.write([])
            let alone = try await kf.run("prefetch", "list", "--drop-duplicates")
            #expect(alone.status == 2 && alone.errors.contains("--drop-duplicates needs --shards"), "\(alone)")
            let far = try await kf.run("prefetch", "list", "--shards", "data", "--drop-duplicates=12")
            #expect(far.status == 2, "\(far)")
        }
    }
}
