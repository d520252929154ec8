import Foundation
import Support
import Testing

/// What strangers say of an image is no evidence.
extension EndToEnd.LockTests {
    @Test("The origin replaces what a lying neighbour's cache has")
    func lyingNeighbour() async throws {
        let lower = kf.home.path("lower").path
        let good = server.url("/b.png")
        for options in [[], ["-p", "flip:h"]] {
            _ = try await kf.run(["fetch", good, "--cache-dir", lower, "-q"] + options)
        }
        // Other bytes, with the size and the time that the index of the neighbour has.
        let lie = try await kf.script(
            #"""
            for object in $(find "$lower/v1/objects" -name '*.png'); do
                cp -p "$object" reference; chmod u+w "$object"
                printf lie | dd of="$object" bs=1 seek=200 conv=notrunc status=none; touch -r reference "$object"
            done
            """#, variables: ["lower": lower])
        #expect(lie.status == 0, "\(lie)")
        let right = try FixturesDirectory.named("png/rgb.png").data
        let plain = try await kf.run("fetch", good, "--cache-from", lower, "-o", "-")
        #expect(plain.standardOutput != right, "without a hash it is believed")
        let pinned = ["--cache-from", lower, "--hash", try hash("rgb"), "-o", "-"]
        let before = server.requests.count
        let run = try await kf.run(["fetch", good] + pinned)
        #expect(run.status == 0 && run.standardOutput == right && server.requests.count == before + 1, "\(run)")
        let made = try await kf.run("fetch", FixturesDirectory.path("png/rgb.png"), "-p", "flip:h", "-o", "-")
        try await emptyCache()
        let flipped = try await kf.run(["fetch", good, "-p", "flip:h"] + pinned)
        #expect(flipped.standardOutput == made.standardOutput && flipped.status == 0, "\(flipped)")
        try kf.home.write("list.txt", good)
        try kf.home.write("images.lock", "# kf images.lock 1\n" + line("/b.png", "rgb"))
        try await emptyCache()
        let listed = try await prefetch("--frozen", "--cache-from", lower)
        #expect(listed.status == 0 && listed.errors.contains("1 fetched"), "\(listed)")
    }

    @Test("The origin replaces what a lying remote has")
    func lyingRemote() async throws {
        let remote = ["--remote", "file://\(kf.home.path("remote").path)"]
        try FileManager.default.createDirectory(at: kf.home.path("remote"), withIntermediateDirectories: true)
        _ = try await kf.run(["prefetch", "list.txt", "--remote-write", "-q"] + remote)
        // The entry of one image names the object of the other one.
        let swap = try await kf.script(
            #"""
            cd "$HOME/remote"
            a=$(sha256sum < "$grey" | cut -d ' ' -f 1); b=$(sha256sum < "$rgb" | cut -d ' ' -f 1)
            entry=$(grep -rl "$b" . | grep -v "/$b" | head -n 1)
            sed -i "s/$b/$a/; s/$(stat -c %s "$rgb")/$(stat -c %s "$grey")/" "$entry"
            """#,
            variables: [
                "grey": FixturesDirectory.path("png/grey.png"), "rgb": FixturesDirectory.path("png/rgb.png"),
            ])
        #expect(swap.status == 0, "\(swap)")
        let right = try FixturesDirectory.named("png/rgb.png").data
        try await emptyCache()
        let plain = try await kf.run(["fetch", server.url("/b.png"), "-o", "-"] + remote)
        #expect(plain.standardOutput != right, "without a hash it is believed")
        try await emptyCache()
        let pinned = try await kf.run(
            ["fetch", server.url("/b.png"), "--hash", try hash("rgb"), "-o", "-"] + remote)
        #expect(pinned.status == 0 && pinned.standardOutput == right, "\(pinned)")
    }

    @Test("A remote's object serves without its entry, and only if it is right")
    func objectOfRemote() async throws {
        let remote = ["--remote", "file://\(kf.home.path("remote").path)"]
        try FileManager.default.createDirectory(at: kf.home.path("remote"), withIntermediateDirectories: true)
        _ = try await kf.run(["prefetch", "list.txt", "--remote-write", "-q"] + remote)
        try FileManager.default.removeItem(at: kf.home.path("remote/kf1/ac"))
        try await emptyCache()
        let count = server.requests.count
        let pinned = ["fetch", server.url("/b.png"), "--hash", try hash("rgb"), "--json"] + remote
        let item = try await kf.run(pinned + ["-o", "b.png"]).item()
        #expect(item.status == "pinned" && server.requests.count == count, "\(item)")
        #expect(try kf.contents("b.png") == FixturesDirectory.named("png/rgb.png").data)
        let copies = ["--variant", "a=resize:2x", "--variant", "b=blur:1", "--output-dir", "."]
        let small = try await kf.run(pinned + copies)
        #expect(try small.items().map(\.status) == ["pinned", "pinned"] && kf.cachedObjects().isEmpty, "\(small)")
        for path in TemporaryDirectory.files(in: kf.home.path("remote")) where path.contains("/cas/") {
            try kf.home.write("remote/\(path)", "damaged")
        }
        let fetched = try await kf.run(pinned).item()
        #expect(fetched.status == "fetched" && server.requests.count == count + 1, "\(fetched)")
    }

    /// Processing chains whose images a remote has beside the originals.
    static let chains = [
        ["-p", "flip:h"], ["-f", "jpeg"], ["--widths", "4,8"], ["--srgb", "-p", "flip:v"],
        ["--variant", "a=flip:h", "--variant", "b=grayscale"],
    ]

    /// The bytes of the copies by name.
    private func copies(in folder: String) throws -> [String: Data] {
        let names = TemporaryDirectory.files(in: kf.home.path(folder))
        return try Dictionary(uniqueKeysWithValues: names.map { ($0, try kf.contents("\(folder)/\($0)")) })
    }

    private func remote(_ name: String) throws -> [String] {
        try FileManager.default.createDirectory(at: kf.home.path(name), withIntermediateDirectories: true)
        return ["--remote", "file://\(kf.home.path(name).path)"]
    }

    @Test("A lock gets the hash of the original where a remote has the result", arguments: chains)
    func resultOfRemote(chain: [String]) async throws {
        let remote = try remote("remote")
        let filled = try await kf.run(
            ["prefetch", "list.txt", "--cache-dir", "w1", "--remote-write", "-P", "good"] + chain + remote)
        #expect(filled.status == 0, "\(filled)")
        let right = try "# kf images.lock 1\n" + line("/a.png", "grey") + line("/b.png", "rgb")
        for _ in 1...2 {
            let run = try await kf.run(
                ["prefetch", "list.txt", "--lock", "images.lock", "-P", "out"] + chain + remote)
            #expect(try run.status == 0 && lock == right && copies(in: "out") == copies(in: "good"), "\(run)")
        }
        let original = try await kf.run(
            "fetch", server.url("/b.png"), "--lock", "images.lock", "--frozen", "-o", "-")
        #expect(try original.standardOutput == FixturesDirectory.named("png/rgb.png").data, "\(original)")
        try await emptyCache()
        let frozen = try await kf.run(["prefetch", "list.txt", "--lock", "images.lock", "--frozen"] + chain)
        #expect(frozen.status == 0 && frozen.errors.contains("2 as locked"), "\(frozen)")

        let commands = [["fetch", server.url("/a.png"), "-P", "out"], ["cache", "pull", "list.txt"]]
        for (number, command) in commands.enumerated() {
            let own = ["--cache-dir", "c\(number)", "--lock", "own\(number).lock"]
            let run = try await kf.run(command + chain + remote + own)
            #expect(run.status == 0, "\(run)")
            let text = try kf.text("own\(number).lock")
            #expect(try text.contains(line("/a.png", "grey")) && right.hasPrefix(text.prefix(20)), "\(text)")
        }
        #expect(try copies(in: "out") == copies(in: "good"))
    }

    @Test(
        "A pinned image is made again if a stranger brought it", arguments: ["remote", "pull", "merge", "neighbour"],
        [["-p", "flip:h"], ["--widths", "4,8"]])
    func madeByStranger(way: String, chain: [String]) async throws {
        try kf.home.write("list.txt", server.url("/b.png"))
        let good = try await kf.run(["prefetch", "list.txt", "--cache-dir", "good-cache", "-P", "good"] + chain)
        #expect(good.status == 0, "\(good)")
        // A remote has what was made of another picture, and says that it was made of this one.
        let remote = try remote("remote")
        pictures["/b.png"] = "rgba"
        let evil = try await kf.run(
            ["prefetch", "list.txt", "--cache-dir", "evil-cache", "--remote-write", "-P", "evil"] + chain + remote)
        #expect(try evil.status == 0 && copies(in: "evil") != copies(in: "good"), "\(evil)")
        pictures["/b.png"] = "rgb"
        let lie = try await kf.script(
            #"""
            cd "$HOME/remote/kf1/ac"
            a=$(sha256sum < "$rgba" | cut -d ' ' -f 1); b=$(sha256sum < "$rgb" | cut -d ' ' -f 1)
            grep -rL original_sha256 . | xargs rm
            sed -i "s/\"original_sha256\":\"$a/\"original_sha256\":\"$b/" $(grep -rl original_sha256 .)
            """#,
            variables: [
                "rgba": FixturesDirectory.path("png/rgba.png"), "rgb": FixturesDirectory.path("png/rgb.png"),
            ])
        #expect(lie.status == 0, "\(lie)")
        try kf.home.write("images.lock", "# kf images.lock 1\n" + line("/b.png", "rgb"))
        var options: [String] = []
        switch way {
        case "remote":
            let believed = try await kf.run(["prefetch", "list.txt", "-P", "believed"] + chain + remote)
            #expect(try copies(in: "believed") == copies(in: "evil"), "without a lock it is believed: \(believed)")
        case "pull": _ = try await kf.run(["cache", "pull", "list.txt"] + chain + remote)
        default:
            let other = ["--cache-dir", "other"]
            _ = try await kf.run(["prefetch", "list.txt"] + other + chain + remote)
            if way == "merge" {
                #expect(try await kf.run("cache", "merge", "other").status == 0)
            } else {
                options = ["--cache-from", kf.home.path("other").path]
            }
        }
        let held = try await kf.run("cache", "verify", "--lock", "images.lock")
        #expect(held.status == 1 && !held.output.contains("1 held"), "\(held)")
        let before = server.requests.count
        let frozen = try await kf.run(
            ["prefetch", "list.txt", "--lock", "images.lock", "--frozen", "-P", "out"] + chain + options)
        #expect(try frozen.status == 0 && copies(in: "out") == copies(in: "good"), "\(frozen)")
        #expect(server.requests.count == before + 1)
        let again = try await kf.run(
            ["prefetch", "list.txt", "--lock", "images.lock", "--frozen", "--offline", "-P", "out"] + chain)
        #expect(again.status == 0 && again.errors.contains("1 cached"), "what was made here counts: \(again)")
        let fetched = try await kf.run(
            ["fetch", server.url("/b.png"), "--hash", try hash("rgb"), "--json", "-P", "out"] + chain)
        #expect(try Set(fetched.items().map(\.status)) == ["disk"], "\(fetched)")
        #expect(try copies(in: "out") == copies(in: "good") && server.requests.count == before + 1)
    }

    @Test("A restored cache knows its own images, and a merged one does not")
    func restored() async throws {
        let chain = ["-p", "flip:h", "--store", "processed"]
        let frozen = ["prefetch", "list.txt", "--lock", "images.lock", "--frozen"] + chain
        #expect(try await prefetch("-p", "flip:h", "--store", "processed").status == 0)
        let copy = try await kf.script(#"cp -a "$from" "$HOME/copy""#, variables: ["from": kf.cacheDirectory.path])
        #expect(copy.status == 0, "\(copy)")
        let restored = try await kf.run(frozen + ["--offline", "--cache-dir", "copy"])
        #expect(restored.status == 0 && restored.errors.contains("2 cached"), "\(restored)")
        #expect(try await kf.run("cache", "merge", "copy", "--cache-dir", "merged").status == 0)
        let merged = try await kf.run(frozen + ["--offline", "--cache-dir", "merged"])
        #expect(merged.status == 1 && merged.errors.contains("[3006]"), "\(merged)")
        let before = server.requests.count
        #expect(try await kf.run(frozen + ["--cache-dir", "merged"]).status == 0)
        #expect(server.requests.count == before + 2)
        #expect(try await kf.run(frozen + ["--offline", "--cache-dir", "merged"]).status == 0)
    }

    @Test("Remotes get no mark of a cache")
    func unmarkedRemote() async throws {
        let remote = try remote("remote")
        _ = try await kf.run(["prefetch", "list.txt", "-p", "flip:h", "--remote-write"] + remote)
        _ = try await kf.run(["cache", "push"] + remote)
        let files = TemporaryDirectory.files(in: kf.home.path("remote")).filter { $0.contains("/ac/") }
        #expect(files.count == 4)
        for file in files { #expect(try !kf.text("remote/\(file)").contains("kf-made")) }
    }
}
