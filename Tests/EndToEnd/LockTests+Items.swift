import Foundation
import Support
import Testing

/// What several images of an item say of one URL.
extension EndToEnd.LockTests {
    @Test("One image of an item locks the original", arguments: [["a", "b"], ["b", "a"]])
    func failingVariant(order: [String]) async throws {
        try kf.home.write("list.txt", server.url("/b.png"))
        let variants = ["a": "a=watermark:\(server.url("/missing.png"))", "b": "b=flip:h"]
        let options = order.flatMap { ["--variant", variants[$0] ?? ""] }
        let command = ["prefetch", "list.txt", "-P", "out", "--lock", "images.lock", "--retry", "0"] + options
        let run = try await kf.run(command)
        #expect(run.status == 1 && run.errors.contains("1 new, 0 changed, 0 as locked"), "\(run)")
        #expect(TemporaryDirectory.files(in: kf.home.path("out")) == ["b-b.png"])
        #expect(try lock == "# kf images.lock 1\n" + line("/b.png", "rgb"))
        pictures["/b.png"] = "rgba"
        let update = try await kf.run(command + ["--update-lock"])
        #expect(update.status == 1 && update.errors.contains("0 new, 1 replaced, 0 as locked"), "\(update)")
        #expect(try lock == "# kf images.lock 1\n" + line("/b.png", "rgba"))
    }
}
