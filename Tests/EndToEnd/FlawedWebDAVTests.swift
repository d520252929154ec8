import Foundation
import Support
import Testing

extension EndToEnd {
    /// Servers that list, read or delete wrongly: what is right in the remote stays.
    @Suite("Lists and deletions of flawed servers")
    struct FlawedWebDAVTests {
        private static func replacing(_ old: String, _ new: String) -> RemoteFault.Effect {
            .list { $0.replacingOccurrences(of: old, with: new) }
        }

        /// The number of the remote's files that are not damage.
        private func isWhole(_ remote: RemoteFaultServer, _ count: Int) -> Bool {
            remote.tree.files.keys.count { $0.contains("/kf1/") } == 2 * count
        }

        @Test(
            "A flawed list is an error, and nothing is deleted",
            arguments: [
                (RemoteFault(.status(403), to: "PROPFIND"), "status 403"),
                (RemoteFault(.status(405), to: "PROPFIND"), "this server cannot list"),
                (RemoteFault(.status(200), to: "PROPFIND"), "this server cannot list"),
                (RemoteFault(.status(404), to: "PROPFIND", at: "kf1/ac/"), "no such folder"),
                (RemoteFault(.status(500), to: "PROPFIND", at: "kf1/ac/"), "status 500"),
                (RemoteFault(.list { _ in "<html></html>" }), "no list of WebDAV"),
                (RemoteFault(.list { String($0.dropLast(20)) }), "no list of WebDAV"),
                (RemoteFault(replacing("/base/kf1/ac/", "/dav/kf1/ac/"), at: "kf1/ac/"), "not that of /base/kf1/ac/"),
                (RemoteFault(replacing("<D:collection/>", ""), at: "kf1/"), "is no folder"),
                (
                    RemoteFault(replacing("<D:getcontentlength>", "<D:other>0</D:other><D:getcontentlength>-")),
                    "does not say"
                ),
                (RemoteFault(replacing("HTTP/1.1 200 OK", "HTTP/1.1 500 No")), "is no folder"),
                (
                    RemoteFault(
                        replacing("<D:propstat>", "<D:status>HTTP/1.1 403 Forbidden</D:status><D:propstat>"),
                        at: "kf1/ac/"), "does not say"
                ),
            ])
        func lists(fault: RemoteFault, reason: String) async throws {
            let fleet = try RemoteFleet(images: 3)
            let remote = try RemoteFaultServer()
            try await fleet.warm(remote)
            remote.misbehave(fault)
            for words in [["verify", "--delete"], ["clean", "--unused-for", "1s"], ["stat"]] {
                let result = try await fleet.machine().run(["cache"] + words + ["--remote", remote.url("/base")])
                #expect(result.status == 3 && result.errors.contains(reason), "\(words): \(result)")
                #expect(isWhole(remote, 3) && remote.requests("DELETE").isEmpty)
            }
        }

        @Test("A page of a list is asked for again after a passing failure", arguments: [429, 503, 500])
        func pages(status: Int) async throws {
            let fleet = try RemoteFleet(images: 2)
            let remote = try RemoteFaultServer()
            try await fleet.warm(remote)
            remote.misbehave(.init(.status(status), to: "PROPFIND", at: "kf1/cas/", times: 2))
            let result = try await fleet.machine().run("cache", "stat", "--remote", remote.url("/base"))
            #expect(result.status == 0 && result.output.contains("2 entries"), "\(result)")
        }

        @Test(
            "What cannot be read is reported, and stays",
            arguments: [
                .status(403), .status(500), .truncate(after: 10), .lie(.page), .lie(.longer), .lie(.nothing),
            ] as [RemoteFault.Effect], ["/ac/", "/cas/"])
        func unreadable(effect: RemoteFault.Effect, branch: String) async throws {
            let fleet = try RemoteFleet(images: 3)
            let remote = try RemoteFaultServer()
            try await fleet.warm(remote)
            let path = try #require(remote.tree.files.keys.filter { $0.contains(branch) }.min())
            remote.misbehave(.init(effect, to: "GET", at: path))
            let result = try await fleet.machine().run(
                "cache", "verify", "--delete", "--json", "--remote", remote.url("/base"))
            let lines = try result.objects()
            #expect(result.status == 1 && lines.count == 2, "\(result)")
            #expect(
                lines.first?["kind"] as? String == "unreadable" && lines.last?["repaired"] as? Int == 0, "\(result)")
            #expect(isWhole(remote, 3) && remote.requests("DELETE").isEmpty)
        }

        @Test("A remote that answers nothing any more is given up")
        func gone() async throws {
            let fleet = try RemoteFleet(images: 100)
            let remote = try RemoteFaultServer()
            try await fleet.warm(remote)
            let before = remote.requests("GET").count
            remote.misbehave(.init(.status(403), to: "GET"))
            let result = try await fleet.machine().run("cache", "verify", "--remote", remote.url("/base"))
            #expect(result.status == 3 && result.errors.contains("it does not allow reading"), "\(result)")
            #expect(remote.requests("GET").count - before < 90)
        }

        @Test("A remote that refuses to delete ends a cleaning, which says what it did")
        func refusals() async throws {
            let fleet = try RemoteFleet(images: 3)
            let remote = try RemoteFaultServer()
            try await fleet.warm(remote)
            let url = remote.url("/base")
            remote.misbehave(.init(.status(403), to: "DELETE", at: "/cas/"))
            let result = try await fleet.machine().run(
                "cache", "clean", "--unused-for", "1h", "--json", "--remote", url)
            let summary = try #require(try result.objects().last, "\(result)")
            #expect(result.status == 3 && summary["removed"] as? Int == 3, "\(result)")
            #expect(summary["failed"] as? Int == 1 && summary["exit_status"] as? Int == 3, "\(result)")
            #expect(result.errors.contains("it does not allow deletions"), "\(result)")
            remote.misbehave(.init(.status(500), to: "DELETE"))
            let failed = try await fleet.machine().run("cache", "clean", "--unused-for", "1h", "--remote", url)
            #expect(failed.status == 1, "\(failed)")
            #expect(failed.errors.contains("3 entries could not be read or deleted: status 500"), "\(failed)")
            #expect(remote.tree.files.keys.count { $0.contains("/kf1/cas/") } == 3)
        }

        @Test(
            "One wrong answer costs no image",
            arguments: [
                ("GET", "/ac/", RemoteFault.Effect.status(404)), ("GET", "/ac/", .lie(.otherLastByte)),
                ("GET", "/cas/", .lie(.otherLastByte)), ("GET", "/cas/", .status(404)), ("HEAD", "/cas/", .status(404)),
            ])
        func onceWrong(method: String, branch: String, effect: RemoteFault.Effect) async throws {
            let fleet = try RemoteFleet(images: 3)
            let remote = try RemoteFaultServer()
            try await fleet.warm(remote)
            let path = try #require(remote.tree.files.keys.filter { $0.contains(branch) }.min())
            for words in [["verify", "--delete"], ["clean", "--unused-for", "20000d"]] {
                remote.misbehave(.init(effect, to: method, at: path, times: 1))
                let result = try await fleet.machine().run(["cache"] + words + ["--remote", remote.url("/base")])
                #expect(result.status == 0, "\(result)")
                #expect(isWhole(remote, 3) && remote.requests("DELETE").isEmpty, "\(words): \(result)")
            }
        }

        @Test("Sizes of a list that are wrong delete nothing", arguments: ["ac", "cas"])
        func wrongSizes(branch: String) async throws {
            let fleet = try RemoteFleet(images: 3)
            let remote = try RemoteFaultServer()
            try await fleet.warm(remote)
            // As long as no entry may be, or one byte more.
            remote.misbehave(
                .init(
                    .list {
                        $0.replacing(/<D:getcontentlength>(\d+)/) {
                            "<D:getcontentlength>\(branch == "ac" ? 99_999 : (Int($0.1) ?? 0) + 1)"
                        }
                    }, at: "kf1/\(branch)/"))
            for words in [["verify", "--delete"], ["clean", "--unused-for", "20000d"]] {
                _ = try await fleet.machine().run(["cache"] + words + ["--remote", remote.url("/base")])
                #expect(isWhole(remote, 3) && remote.requests("DELETE").isEmpty)
            }
        }

        @Test("A server whose clock is wrong loses nothing")
        func wrongClock() async throws {
            let fleet = try RemoteFleet(images: 3)
            let remote = try RemoteFaultServer()
            try await fleet.warm(remote)
            let future = "Sun, 06 Nov 2072 08:49:37 GMT"
            var (seconds, fields, text) = (time(nil), tm(), [CChar](repeating: 0, count: 64))
            gmtime_r(&seconds, &fields)
            #expect(strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &fields) > 0)
            let now = String(decoding: text.prefix { $0 != 0 }.map { UInt8($0) }, as: UTF8.self)
            let url = remote.url("/base")
            remote.misbehave(
                .init(
                    .list(
                        { $0.replacing(/<D:getlastmodified>[^<]*/, with: "<D:getlastmodified>\(now)") },
                        headers: ["Date: \(future)"])))
            for words in [["verify", "--delete"], ["clean", "--unused-for", "1d"]] {
                let result = try await fleet.machine().run(["cache"] + words + ["--remote", url])
                #expect(result.status == 0 && isWhole(remote, 3), "\(result)")
            }
        }

        @Test("A page whose server names it by its whole URL is understood")
        func wholeURLs() async throws {
            let fleet = try RemoteFleet(images: 2)
            let remote = try RemoteFaultServer()
            try await fleet.warm(remote)
            let root = remote.url()
            remote.misbehave(.init(.list { $0.replacingOccurrences(of: "<D:href>/", with: "<D:href>\(root)/%62") }))
            #expect(try await fleet.machine().run("cache", "stat", "--remote", remote.url("/base")).status == 3)
            remote.misbehave(
                .init(.list { $0.replacingOccurrences(of: "<D:href>/base", with: "<D:href>\(root)/%62ase") }))
            let result = try await fleet.machine().run("cache", "stat", "--remote", remote.url("/base"))
            #expect(result.status == 0 && result.output.contains("2 entries"), "\(result)")
        }
    }
}
