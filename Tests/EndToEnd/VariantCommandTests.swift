import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Variants")
    final class VariantCommandTests: ServedSuite {
        private let variants = [
            "--variant", "small=resize:100x", "--variant", "large=resize:400x", "--variant", "soft=blur:4",
        ]

        @Test("A name that tells the images apart has no hash")
        func widths() async throws {
            let variants = ["100", "200", "400"].flatMap { ["--variant", "w\($0)=resize:\($0)x"] }
            let options = ["-P", "out", "--name", "{stem}-{width}.{ext}", "-f", "jpeg", "-f", "webp", "-f", "png"]
            let result = try await kf.run(["fetch", server.url("jpeg/progressive.jpg")] + variants + options)
            let names = ["jpg", "webp", "png"].flatMap { ending in
                [100, 200, 400].map { "progressive-\($0).\(ending)" }
            }
            #expect(TemporaryDirectory.files(in: kf.home.path("out")).sorted() == names.sorted(), "\(result)")
            // Two images of one width differ in their pixels.
            let equal = ["--variant", "plain=resize:100x", "--variant", "soft=resize:100x|>blur:3"]
            let both = try await kf.run(
                ["fetch", server.url("jpeg/progressive.jpg"), "-P", "two", "--name", "{stem}-{width}.{ext}"] + equal)
            #expect(both.outputLines[0] == "two/progressive-100.jpg", "\(both)")
            #expect(both.outputLines[1].wholeMatch(of: /two\/progressive-100-[0-9a-f]{8}\.jpg/) != nil, "\(both)")
        }

        @Test("Processors come before every variant")
        func prefix() async throws {
            let url = server.url("png/rgb.png")
            let options = ["-p", "crop:200x100", "--variant", "a=resize:50x", "--variant", "b=rotate:90"]
            let first = try await kf.run(["fetch", url, "--json"] + options).items()
            #expect(first.map(\.width) == [50, 100] && first.map(\.height) == [25, 200])
            let second = try await kf.run(["fetch", url, "--json"] + options).items()
            #expect(second.map(\.status) == ["disk", "disk"])
            #expect(second.map(\.path) == first.map(\.path))
            #expect(try await server.requests().count == 1)
        }

        @Test("The processors of a record come between those of -p and the variant's")
        func column() async throws {
            let url = server.url("png/rgb.png")
            try kf.home.write("list.csv", "url,how\n\(url),crop:100x80\n")
            let options = ["-p", "crop:200x100", "--variant", "a=resize:50x", "--measure", "mean", "--json"]
            let listed = try await kf.run(["prefetch", "list.csv", "--process-column", "how", "-P", "out"] + options)
            let item = try listed.item()
            #expect(item.width == 50 && item.height == 40, "\(listed)")
            let alone = try await kf.run(
                "fetch", url, "-p", "crop:200x100|>crop:100x80|>resize:50x", "--measure", "mean", "--json")
            #expect(try alone.item().sha256 == item.sha256 && alone.item().status == "disk", "\(alone)")
            let means = try [listed, alone].map { try ($0.objects()[0]["measures"] as? [String: Double])?["mean"] }
            #expect(means[0] != nil && means[0] == means[1], "\(means)")
        }

        @Test(
            "A stored image has not failed although its original is too large", arguments: ["fetch", "prefetch"],
            [["-p", "resize:50x"], ["--variant", "a=resize:50x", "--variant", "b=resize:60x"]])
        func tooLarge(command: String, images: [String]) async throws {
            let url = server.url("jpeg/progressive.jpg")
            try kf.home.write("list.txt", url)
            let arguments = [command, command == "fetch" ? url : "list.txt", "--max-size", "60k"] + images
            let told = try await kf.run(arguments)
            #expect(told.status == 0 && told.errors.contains("warning: \(url)"), "\(told)")
            #expect(told.errors.contains("the original: not stored: the image (108 KiB) is larger than"), "\(told)")
            for (options, status) in [(["--force-refresh"], "fetched"), ([], command == "fetch" ? "disk" : "cached")] {
                let again = try await kf.run(arguments + options + ["--json"])
                for item in try again.items() {
                    #expect(item.status == status && item.error == nil && item.path != nil, "\(again)")
                }
                let warnings = try again.objects().compactMap { $0["warnings"] as? [String] }
                #expect(warnings.allSatisfy { $0.isEmpty == options.isEmpty } && again.status == 0, "\(again)")
            }
        }

        @Test("A missing source of variants is remembered, whatever is stored", arguments: ["processed", "both"])
        func remembered(store: String) async throws {
            let origin = try FaultServer { _ in [.reply("404 Not Found")] }
            for _ in 1...2 {
                let result = try await kf.run(
                    ["fetch", origin.url("/a.png"), "--store", store, "--negative-ttl", "1h"] + variants)
                #expect(result.status == 1, "\(result)")
            }
            #expect(origin.requests.count == 1)
        }

        @Test("Processes that want the same variants make one request", arguments: ["processed", "both"])
        func together(store: String) async throws {
            let image = try FixturesDirectory.bytes("jpeg/progressive.jpg")
            let origin = try FaultServer { _ in [.pause(.milliseconds(500)), .reply(body: image)] }
            let words = ["fetch", origin.url("/a.jpg"), "--json", "--store", store] + variants
            let kf = kf
            async let first = kf.run(words)
            async let second = kf.run(words)
            let items = try await first.items() + second.items()
            #expect(items.count == 6 && items.allSatisfy { $0.path != nil }, "\(items)")
            #expect(origin.requests.count == 1)
        }

        @Test(
            "An invalid variant is refused",
            arguments: ["small", "=resize:1x1", "a/b=resize:1x1", "a=", "a=rezise:1x1", "../x=blur:2"])
        func refused(_ spec: String) async throws {
            let result = try await kf.run("fetch", "x.png", "--variant", spec)
            #expect(result.status == 2 && result.errors.contains("ariant"), "\(result)")
        }

        @Test("Variants need a directory and distinct names")
        func conflicts() async throws {
            let output = try await kf.run(["fetch", "x.png", "-o", "y.png"] + variants)
            #expect(output.status == 2 && output.errors.contains("--output-dir"), "\(output)")
            let twice = try await kf.run("fetch", "x.png", "--variant", "a=blur:2", "--variant", "a=blur:3")
            #expect(twice.status == 2 && twice.errors.contains("two variants"), "\(twice)")
        }
    }
}
