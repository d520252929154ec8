import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Command line syntax")
    final class CommandLineTests: CommandSuite {
        @Test("A source that starts with a dash follows a double dash")
        func dash() async throws {
            let fixture = try FixturesDirectory.named("png/grey.png")
            try kf.home.write("-odd.png", fixture.data)
            let result = try await kf.run("fetch", "-o", "-", "--", "-odd.png")
            #expect(try result.status == 0 && result.standardOutput == fixture.data, "\(result)")
        }

        @Test("Options may follow the source, use an equals sign or be bundled")
        func spellings() async throws {
            try kf.home.write("a.png", FixturesDirectory.named("png/grey.png").data)
            let spellings = [
                ["fetch", "a.png", "--format=jpeg", "--output=o"], ["fetch", "-qf", "jpeg", "-oo", "a.png"],
                ["fetch", "-o", "o", "-fjpeg", "a.png"],
            ]
            for arguments in spellings {
                let result = try await kf.run(arguments)
                #expect(result.status == 0, "\(result)")
                _ = try await Raster(jpeg: kf.contents("o"))
            }
        }
    }
}
