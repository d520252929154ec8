import Foundation
import Support
import Testing

extension KFCommand {
    /// Fetches or prefetches two images: the first fails with its reason and leaves nothing behind, and the second comes.
    /// The second is `png/rgb.png` of the fixtures.
    func expectRefusal(
        by command: String = "fetch", of bad: String, beside good: String, _ options: [String], code: Int,
        says words: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let arguments = [command, "--json", "--output-dir", "out"] + options
        let result =
            command == "fetch"
            ? try await run(arguments + [bad, good])
            : try await run(arguments + ["-"], input: Data("\(bad)\n\(good)\n".utf8))
        #expect(result.status == 1, "\(result)", sourceLocation: sourceLocation)
        let items = try result.items()
        #expect(items.count == 2, "\(result)", sourceLocation: sourceLocation)
        let failed = try #require(items.first { $0.source == bad }, "\(result)", sourceLocation: sourceLocation)
        #expect(failed.status == "failed", "\(result)", sourceLocation: sourceLocation)
        #expect(failed.error?.code == code, "\(result)", sourceLocation: sourceLocation)
        let message = failed.error?.message ?? ""
        #expect(words.isEmpty || message.contains(words), "\(message)", sourceLocation: sourceLocation)
        #expect(failed.path == nil && failed.output == nil, sourceLocation: sourceLocation)
        #expect(items.first { $0.source == good }?.status == "fetched", "\(result)", sourceLocation: sourceLocation)
        // Of the two, the good one alone is cached and written.
        let stat = try #require(try await run("cache", "stat", "--json").objects().first)
        #expect(stat["entries"] as? Int == 1, sourceLocation: sourceLocation)
        #expect(cachedObjects().count == 1, sourceLocation: sourceLocation)
        #expect(leftovers().isEmpty, sourceLocation: sourceLocation)
        let written = TemporaryDirectory.files(in: home.path("out"))
        #expect(written.count == 1, sourceLocation: sourceLocation)
        for name in written {
            let picture = try FixturesDirectory.named("png/rgb.png").data
            #expect(try contents("out/\(name)") == picture, sourceLocation: sourceLocation)
        }
    }
}
