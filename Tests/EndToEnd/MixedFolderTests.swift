import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("A folder with transparent and undecoded pictures")
    struct MixedFolderTests {
        let kf: KFCommand

        init() throws {
            kf = try KFCommand()
            try kf.home.write("photos/photo.jpg", FixturesDirectory.named("jpeg/landscape-420.jpg").data)
            try kf.home.write("photos/clear.png", FixturesDirectory.named("png/rgba.png").data)
            try kf.home.write(
                "photos/logo.svg",
                "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='30'><path d='M0 0h9v9z'/></svg>")
        }

        private func site(_ options: String...) async throws -> CommandResult {
            let formats = ["--widths", "16,32", "-f", "webp", "-f", "jpeg"]
            return try await kf.run(
                ["fetch", "photos", "-P", "site", "--create-dirs", "--srcset", "site/list.html"] + formats + options)
        }

        private func inode(_ name: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: kf.home.path("site/\(name)").path)[.systemFileNumber]
                as? Int
        }

        private var files: [String] { TemporaryDirectory.files(in: kf.home.path("site")).sorted() }

        @Test("A folder has the files of every usual ending, and options know these")
        func endings() async throws {
            let pictures = ["a.apng": "png/rgba.png", "b.JFIF": "jpeg/landscape-420.jpg", "c.jpe": "png/rgba.png"]
            for (name, picture) in pictures {
                try kf.home.write("more/\(name)", FixturesDirectory.named(picture).data)
            }
            let run = try await kf.run("fetch", "more", "-P", "site", "--create-dirs", "--formats", "apng,jfif")
            #expect(run.status == 0 && files == ["a.png", "b.jpg", "c.png"], "\(run)")
            let other = try await kf.run("fetch", "more/a.apng", "-f", "keep", "-o", "x.tif")
            #expect(other.status == 0 && other.errors.contains("x.tif has the bytes of PNG"), "\(other)")
        }

        @Test("Several formats write a transparent picture as PNG, and --undecoded copies the others")
        func copies() async throws {
            let first = try await site("--undecoded", "copy")
            #expect(first.status == 0, "\(first)")
            #expect(
                files == [
                    "clear-16.png", "clear-16.webp", "clear-32.png", "clear-32.webp", "list.html", "logo-40.svg",
                    "photo-16.jpg", "photo-16.webp", "photo-32.jpg", "photo-32.webp",
                ])
            let logo = try Data(contentsOf: kf.home.path("site/logo-40.svg"))
            #expect(try logo == Data(contentsOf: kf.home.path("photos/logo.svg")))
            let markup = try String(contentsOf: kf.home.path("site/list.html"), encoding: .utf8)
            #expect(markup.contains("\n<img src=\"logo-40.svg\" width=\"40\" height=\"30\" alt=\"\">\n"), "\(markup)")
            #expect(
                markup.contains("<img src=\"clear-32.png\" srcset=\"clear-16.png 16w, clear-32.png 32w\""), "\(markup)")
            let before = try files.map { try inode($0) }
            let second = try await site("--undecoded", "copy", "--json")
            #expect(try second.objects().last?["written"] as? Int == 0, "\(second)")
            #expect(try files.map { try inode($0) } == before)
        }

        @Test("A copied file has no placeholder and no measures")
        func described() async throws {
            let described = ["--placeholder", "color", "--measure", "dhash,frames", "--json"]
            for options in [["-p", "resize:16x"], []] {
                for _ in 0..<2 {
                    let run = try await kf.run(
                        ["fetch", "photos", "-P", "site", "--create-dirs", "--undecoded", "copy"] + options + described)
                    #expect(run.status == 0, "\(run)")
                    let items = try run.objects().filter { $0["source"] != nil }
                    #expect(items.count == 3 && items.count { $0["placeholder"] is String } == 2, "\(run)")
                    #expect(items.allSatisfy { $0["error"] is NSNull || $0["error"] == nil }, "\(run)")
                }
                let failed = try await kf.run(["fetch", "photos", "-P", "site"] + options + described)
                #expect(failed.status == 1 && failed.errors.contains("logo.svg"), "\(failed)")
            }
        }

        @Test("An undecoded file fails without the option, even after a copy")
        func fails() async throws {
            #expect(try await site("--undecoded", "copy").status == 0)
            let result = try await site()
            #expect(result.status == 1 && result.errors.contains("photos/logo.svg"), "\(result)")
            #expect(!result.errors.contains("clear.png"), "\(result)")
        }

        @Test("A single JPEG of a transparent picture fails, and the message names --background")
        func single() async throws {
            let failed = try await kf.run("fetch", "photos/clear.png", "-f", "jpeg", "-P", "site")
            #expect(failed.status == 1 && failed.errors.contains("; --background COLOUR sets one [4001]"), "\(failed)")
            let white = try await kf.run(
                "fetch", "photos/clear.png", "-f", "webp", "-f", "jpeg", "--background", "white", "-P", "site")
            #expect(white.status == 0 && files == ["clear.jpg", "clear.webp"], "\(white)")
        }
    }
}
