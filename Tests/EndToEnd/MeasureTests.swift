import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Measures")
    final class MeasureTests: ServedSuite {
        private static let all = "dhash,entropy,mean,sharpness,color,transparent,frames"

        private func objects(_ text: [String]) throws -> [[String: Any]] {
            try text.map { line in
                let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                return try #require(object, "\(line)")
            }
        }

        private func measures(_ result: CommandResult) throws -> [[String: Any]] {
            try objects(result.outputLines).compactMap { $0["measures"] as? [String: Any] }
        }

        @Test(
            "Measures are those of numpy, Pillow and imagehash",
            .enabled(if: Corpora.has("photos"), "\(Corpora.absence)"),
            .enabled("numpy, Pillow or imagehash is missing; KF_PYTHON names a python that has them") {
                await DataSet.hasPackage("imagehash, numpy, PIL")
            })
        func reference() async throws {
            let files = ["photos", "exif-orientation", "jpeg-ref"].flatMap(Corpora.files).map(\.path).filter { path in
                // Pillow converts CMYK without its profile.
                [".png", ".jpg", ".jpeg", ".webp"].contains { path.lowercased().hasSuffix($0) }
                    && !path.contains("cmyk")
            }
            let script = PackageRoot.url.appending(path: "Tests/EndToEnd/measures.py").path
            var (compared, near) = (0, 0)
            for file in files {
                let expected = try await Tool.run(DataSet.python, script, file)
                // Pillow refuses some of the JPEGs.
                guard expected.status == 0, let values = try objects(expected.outputLines).first else { continue }
                let result = try await kf.run("fetch", file, "--json", "--measure", Self.all)
                guard result.status == 0 else { continue }
                let found = try #require(try measures(result).first, "\(result)")
                compared += 1
                func number(_ object: [String: Any], _ name: String) -> Double { object[name] as? Double ?? .nan }
                let hashes = try [values, found].map { try #require(UInt64($0["dhash"] as? String ?? "", radix: 16)) }
                if (hashes[0] ^ hashes[1]).nonzeroBitCount <= 2 { near += 1 }
                #expect(abs(number(values, "entropy") - number(found, "entropy")) < 0.05, "\(file)")
                #expect(abs(number(values, "mean") - number(found, "mean")) < 0.5, "\(file)")
                let sharpness = number(values, "sharpness")
                #expect(abs(sharpness - number(found, "sharpness")) < sharpness * 0.1 + 1, "\(file)")
                #expect(values["transparent"] as? Bool == found["transparent"] as? Bool, "\(file)")
                let color = try #require(UInt32((found["color"] as? String ?? "").dropFirst(), radix: 16))
                for (index, channel) in (values["color"] as? [Double] ?? []).enumerated() {
                    #expect(abs(Double(color >> (16 - 8 * index) & 255) - channel) < 1.5, "\(file)")
                }
            }
            #expect(compared >= 8)
            #expect(Double(near) >= 0.95 * Double(compared), "\(near) of \(compared)")
        }

        @Test("A second run decodes nothing, and other measures need no request")
        func cached() async throws {
            let fetch = ["fetch", server.url("jpeg/progressive.jpg"), "--json", "-p", "resize:320x", "--measure"]
            let first = try measures(try await kf.run(fetch + [Self.all]))
            #expect(first.first?.count == 7 && first.first?["frames"] as? Int == 1)
            try await server.stop()
            let again = try await kf.run(fetch + ["color,mean", "--only-from-cache"])
            let second = try measures(again).first
            #expect(second?.count == 2 && second?["color"] as? String == first.first?["color"] as? String, "\(again)")
            let fewer = try await kf.run(fetch + ["dhash", "--only-from-cache"])
            #expect(try measures(fewer).first?.count == 1 && fewer.status == 0, "\(fewer)")
            let list = try objects(try await kf.run("cache", "ls", "--json").outputLines)
            let listed = list.compactMap { $0["measures"] as? [String: Any] }
            #expect(listed.map(\.count).sorted() == [1, 6], "\(list)")
            let shown = try await kf.run("cache", "ls").outputLines
            #expect(shown.count == 2 && !shown.contains { $0.contains("@sketch") }, "\(shown)")
            let smallest = try await kf.run("cache", "ls", "--limit", "2", "--sort", "size", "--reverse").outputLines
            #expect(smallest.count == 2 && !smallest.contains { $0.contains("@sketch") }, "\(smallest)")
            let chain = "resize:320x|>sketch:color|>described:4"
            for options in [["-v"], ["--processor", chain]] {
                let own = try await kf.run(["cache", "ls"] + options)
                #expect(own.output.contains("@\(chain)\n"), "\(own)")
            }
        }

        @Test("The summary counts no image for a measure")
        func counted() async throws {
            let list = Data(server.url("png/rgba.png").utf8)
            let fetched = try await kf.run(["prefetch", "-", "--json", "--measure", "mean"], input: list).objects()
            #expect(
                fetched.last?["fetched"] as? Int == 1 && fetched.last?["bytes"] as? Int == fetched[0]["bytes"] as? Int)
            for measure in ["color", "mean"] {
                for level in ["luma", "color"] {
                    _ = try await kf.run("cache", "rm", "--processor", "sketch:\(level)|>described:4")
                }
                let run = try await kf.run(["prefetch", "-", "--json", "--measure", measure], input: list).objects()
                #expect(run[0]["status"] as? String == "cached" && run[1]["cached"] as? Int == 1, "\(run)")
                #expect(run[1]["derived"] as? Int == 0, "\(run)")
            }
        }

        @Test(
            "An image whose measure or placeholder fails has failed",
            arguments: [["--measure", "color"], ["--placeholder", "color"]], [[], ["--max-pixels", "100"]])
        func failed(option: [String], limit: [String]) async throws {
            let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"4\" height=\"4\"></svg>"
            try kf.home.write("a.svg", svg)
            let picture = limit.isEmpty ? "a.svg" : FixturesDirectory.path("png/rgb.png")
            try kf.home.write("list", picture + "\n")
            // A limit of the decoder is one of arriving images, too.
            if !limit.isEmpty { #expect(try await kf.run("fetch", picture).status == 0) }
            let files = ["--results", "rows.csv", "--failures", "failed", "--json", "-P", "out"]
            // The second run finds the image in the cache.
            for _ in 0..<2 {
                let run = try await kf.run(["prefetch", "list", "--allow-local"] + option + limit + files)
                let objects = try run.objects()
                #expect(run.status == 1 && objects[0]["status"] as? String == "failed", "\(run)")
                #expect((objects[0]["error"] as? [String: Any])?["code"] as? Int == 4001, "\(run)")
                #expect(objects[1]["failed"] as? Int == 1 && objects[1]["exit_status"] as? Int == 1, "\(run)")
                #expect(try kf.text("failed") == kf.text("list"))
                let rows = try kf.text("rows.csv").split(separator: "\n")
                #expect(rows.count == 2 && rows[1].contains(",failed,"), "\(rows)")
                let state = try #require(objects[0]["output_state"] as? String)
                #expect(objects[1][state] as? Int == 1, "\(run)")
                let fetch = try await kf.run(["fetch", picture, "--json"] + option + limit)
                #expect(try fetch.status == 1 && fetch.item().status == "failed", "\(fetch)")
                #expect(try fetch.item().error?.code == 4001, "\(fetch)")
            }
        }

        @Test("Rows of results and of shards have the measures")
        func rows() async throws {
            try kf.home.write("list.csv", Data("url,color\n\(server.url("png/rgba.png")),mine\n".utf8))
            let run = try await kf.run(
                "prefetch", "list.csv", "--measure", "transparent,color,frames", "--results", "rows.csv")
            #expect(run.status == 0, "\(run)")
            let rows = String(decoding: try kf.contents("rows.csv"), as: UTF8.self).split(separator: "\n")
            #expect(rows[0].hasSuffix(",placeholder,left_out,transparent,color,url,columns.color"), "\(rows)")
            #expect(rows[1].split(separator: ",").suffix(4).first == "true", "\(rows)")
            let shards = ["prefetch", "list.csv", "--shards", "data", "--placeholder", "color", "--measure"]
            let packed = try await kf.run(shards + ["color"])
            #expect(packed.status == 0, "\(packed)")
            let row = try objects([String(decoding: try kf.contents("data/00000.jsonl"), as: UTF8.self)])[0]
            let color = (row["measures"] as? [String: Any])?["color"] as? String
            #expect(color?.count == 7 && row["placeholder"] as? String == color, "\(row)")
            // The rows of a whole archive are read from it.
            let again = try await kf.run(shards + ["color", "--results", "again.csv"])
            let last = String(decoding: try kf.contents("again.csv"), as: UTF8.self).split(separator: "\n").last
            #expect(last?.split(separator: ",").suffix(3).first.map(String.init) == color, "\(again)")
            let other = try await kf.run(shards + ["dhash"])
            #expect(other.status == 3 && other.errors.contains("rows with"), "\(other)")
        }

        @Test("An unknown measure is refused with the names of all")
        func unknown() async throws {
            let result = try await kf.run("fetch", "a.png", "--measure", "dhash,sharpnes")
            #expect(result.status == 2 && result.errors.contains("sharpness"), "\(result)")
        }
    }
}
