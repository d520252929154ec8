import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("The command line")
    struct CommandLineTests {
        let kf: KFCommand

        init() throws { kf = try KFCommand() }

        @Test(
            "a slip of the finger gets a suggestion",
            arguments: [
                (["fecth", "a.png"], "fetch"), (["fetch", "--forse-refresh", "a.png"], "--force-refresh"),
                (["fetch", "--outptu", "x", "a.png"], "--output"), (["cache", "stta"], "stat"),
                (["prefecth"], "prefetch"),
            ])
        func suggestion(arguments: [String], meant: String) async throws {
            let result = try await kf.run(arguments)
            #expect(result.status == 2, "\(result)")
            #expect(
                result.errors.hasPrefix("kf: ")
                    && result.errors.replacing("'", with: "").contains("did you mean \(meant)?"), "\(result)")
            #expect(result.standardOutput.isEmpty)
            #expect(TemporaryDirectory.files(in: kf.cacheDirectory) == [])
        }

        @Test(
            "a command that makes no sense exits 2 and touches nothing",
            arguments: [
                [], ["fetch"], ["cache"], ["cache", "rm"], ["fetch", "--quality", "0", "a.png"],
                ["fetch", "--quality", "101", "a.png"], ["fetch", "--quality", "high", "a.png"],
                ["fetch", "-f", "bmp", "a.png"], ["fetch", "a.png", "-o"], ["prefetch", "-j", "0", "-"],
                ["fetch", "--json=yes", "a.png"],
            ])
        func usage(arguments: [String]) async throws {
            let result = try await kf.run(arguments)
            #expect(result.status == 2, "\(result)")
            #expect(!result.errors.isEmpty && result.standardOutput.isEmpty, "\(result)")
            #expect(TemporaryDirectory.files(in: kf.cacheDirectory) == [])
        }

        @Test("a source that starts with a dash comes after --")
        func dash() async throws {
            let fixture = try FixturesDirectory.named("png/grey.png")
            try kf.home.write("-odd.png", fixture.data)
            let result = try await kf.run("fetch", "-o", "-", "--", "-odd.png")
            #expect(try result.status == 0 && result.standardOutput == fixture.data, "\(result)")
        }

        @Test("options may follow the source, hold their value after =, and be bundled")
        func spellings() async throws {
            try kf.home.write("a.png", FixturesDirectory.named("png/grey.png").data)
            let spellings = [
                ["fetch", "a.png", "--format=jpeg", "--output=o"], ["fetch", "-qf", "jpeg", "-oo", "a.png"],
                ["fetch", "-o", "o", "-fjpeg", "a.png"],
            ]
            for arguments in spellings {
                let result = try await kf.run(arguments)
                #expect(result.status == 0, "\(result)")
                _ = try await Raster(jpeg: Data(contentsOf: kf.home.path("o")))
            }
        }

        @Test("help and version go to standard output")
        func help() async throws {
            for arguments in [["help"], ["--help"], ["fetch", "--help"], ["help", "fetch"]] {
                let result = try await kf.run(arguments)
                #expect(result.status == 0 && result.errors == "" && result.output.contains("fetch"), "\(result)")
            }
            let version = try await kf.run("--version")
            #expect(version.status == 0 && version.output.contains(/^kf [0-9]+\.[0-9]+/), "\(version)")
        }
    }
}
