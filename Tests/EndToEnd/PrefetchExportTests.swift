import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Prefetch copies")
    final class PrefetchExportTests: ServedSuite {
        private func copies() -> [String] { TemporaryDirectory.files(in: kf.home.path("out")) }

        @Test("A prefetch names its copies by a template")
        func template() async throws {
            let names = ["png/grey.png", "jpeg/grey.jpg"]
            let list = Data(names.map { server.url($0) + "\n" }.joined().utf8)
            for _ in 0..<2 {
                let result = try await kf.run(
                    "prefetch", "-", "--output-dir", "out", "--name", "{format}/{index}-{stem}-{width}x{height}.{ext}",
                    input: list)
                #expect(result.status == 0, "\(result)")
                #expect(copies() == ["jpeg/2-grey-640x427.jpg", "png/1-grey-200x150.png"])
                for (copy, name) in zip(copies().reversed(), names) {
                    #expect(try kf.contents("out/" + copy) == FixturesDirectory.named(name).data)
                }
                try FileManager.default.removeItem(at: kf.home.path("out"))
            }
            #expect(try await server.requests().count == 2)
        }

        @Test(
            "The summary counts the files of failed items",
            arguments: [["--max-size", "1K"], ["-p", "resize:17000x2", "-f", "png", "-f", "webp"]] as [[String]])
        func countsOfFailed(options: [String]) async throws {
            let list = Data(server.url("png/rgba.png").utf8)
            for state in ["written", "unchanged"] {
                let words = ["prefetch", "-", "-P", "out", "--json"] + options
                let objects = try await kf.run(words, input: list).objects()
                #expect(objects.contains { $0["status"] as? String == "failed" }, "\(objects)")
                for word in ["written", "unchanged"] {
                    let rows = objects.count { $0["output_state"] as? String == word }
                    #expect(objects.last?[word] as? Int == rows && (rows == 1) == (word == state), "\(objects)")
                }
            }
        }

        @Test("The first image in the list gets the contested name")
        func sameName() async throws {
            let names = ["png/grey.png", "jpeg/grey.jpg", "png/rgb.png"]
            let list = Data(names.map { server.url($0) + "\n" }.joined().utf8)
            var all: [[String]] = []
            for jobs in ["1", "8"] {
                let result = try await kf.run(
                    "prefetch", "-", "-j", jobs, "-f", "png", "--output-dir", "out", input: list)
                #expect(result.status == 0, "\(result)")
                #expect(Set(result.outputLines) == Set(copies().map { "out/" + $0 }), "\(result)")
                let first = try await kf.run("fetch", server.url(names[0]), "-o", "-").standardOutput
                #expect(try kf.contents("out/grey.png") == first)
                all.append(copies())
                try FileManager.default.removeItem(at: kf.home.path("out"))
                _ = try await kf.run("cache", "clean", "--all", "--yes")
            }
            #expect(all[0] == all[1] && all[0].count == 3, "\(all)")
            #expect(all[0][0].wholeMatch(of: /grey-[0-9a-f]{8}\.png/) != nil, "\(all)")
            let reversed = Data(names.reversed().map { server.url($0) + "\n" }.joined().utf8)
            _ = try await kf.run("prefetch", "-q", "-", "--output-dir", "other", input: reversed)
            let other = TemporaryDirectory.files(in: kf.home.path("other"))
            // They keep their extensions, so that no two names are equal.
            #expect(other == ["grey.jpg", "grey.png", "rgb.png"], "\(other)")
        }

        @Test("Whole source names keep images of wrong extensions apart")
        func wrongExtensions() async throws {
            let pictures = try DataSet()
            let server = try pictures.server()
            let urls = ["photo", "photo.jpg", "photo.png"].map { server.url("/\($0)") }
            // In both orders, and cached.
            for list in [urls, urls.reversed(), urls] {
                let result = try await kf.run(
                    "prefetch", "-", "-j", "1", "-q", "-P", "out", "--name", "{name}.{ext}", input: pictures.list(list))
                #expect(result.status == 0, "\(result)")
                #expect(copies() == ["photo.jpg.png", "photo.png", "photo.png.png"])
                #expect(try kf.contents("out/photo.png") == Data(pictures.picture("/photo")))
                try FileManager.default.removeItem(at: kf.home.path("out"))
            }
        }

        @Test("Parts of a list give the same names as the whole")
        func shards() async throws {
            let names = ["png/grey.png", "jpeg/grey.jpg", "png/rgb.png", "gif/animated.gif", "webp/lossy.webp"]
            let list = Data(names.map { server.url($0) + "\n" }.joined().utf8)
            let template = ["-f", "png", "-q", "--name", "{index}-{stem}.{ext}"]
            for name in ["{stem}.{ext}", "{index:02}-{stem}.{ext}"] {
                var arguments = template
                arguments[4] = name
                _ = try await kf.run(["prefetch", "-", "-P", "whole"] + arguments, input: list)
                for shard in ["0/3", "1/3", "2/3"] {
                    _ = try await kf.run(["prefetch", "-", "-P", "parts", "--shard", shard] + arguments, input: list)
                }
            }
            let whole = TemporaryDirectory.files(in: kf.home.path("whole"))
            #expect(whole.count == 10 && TemporaryDirectory.files(in: kf.home.path("parts")) == whole, "\(whole)")
        }

        @Test("A missing output directory is reported before any request")
        func directory() async throws {
            let list = Data(["png/grey.png", "jpeg/grey.jpg"].map { server.url($0) + "\n" }.joined().utf8)
            let missing = try await kf.run("prefetch", "-", "-P", "q/w/e", input: list)
            #expect(missing.status == 3 && missing.errorLines.count == 1, "\(missing)")
            #expect(try await server.requests().isEmpty)
            _ = try await kf.run("prefetch", "-", input: list)
            let derived = try await kf.run("prefetch", "-", "-f", "webp", input: list)
            #expect(derived.errors.contains("0 fetched (0 B), 2 derived, 0 cached, 0 failed"), "\(derived)")
        }

        @Test("Names from a list cannot leave the directory")
        func names() async throws {
            let url = server.url("png/grey.png")
            let list = """
                {"url":"\(url)","name":"first.png"}
                {"url":"\(url)?2","name":"../../evil"}
                {"url":"\(url)?3","name":"/etc/passwd"}
                """
            let result = try await kf.run(
                "prefetch", "-", "--input-format", "jsonl", "--output-dir", "out", "--name", "{stem}.{ext}",
                "--name-column", "name", input: Data(list.utf8))
            #expect(result.status == 0, "\(result)")
            #expect(copies() == ["_.._evil.png", "_etc_passwd.png", "first.png"])
        }
    }
}
