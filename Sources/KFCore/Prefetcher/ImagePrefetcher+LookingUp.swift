import KFLists
import KFPipeline
import KFSystem
import KFTerms

/// Looking up the items of lists in the cache, before anything is made for those that are there.
extension ImagePrefetcher {
    /// Whether items have neither mirrors nor alternative sources.
    var asksOnlyHosts: Bool {
        forms.allSatisfy { $0.value.request.mirrors.isEmpty && $0.value.alternativeSources.isEmpty }
    }

    /// Whether cached images are skipped, according to the disk cache.
    private var looksUp: Bool {
        let options = forms[0].value
        return !options.forceRefresh && !options.revalidate && configuration.exporter == nil
    }

    /// Separates the cached items from the missing ones.
    func look(up items: [PrefetchItem]) async -> PrefetchFindings {
        do throws(KingfisherError) {
            if let problem = configuration.exporter?.problem { throw problem }
            var findings = PrefetchFindings()
            try await part(items, &findings)
            return findings
        } catch {
            return PrefetchFindings(untried: items, problem: error)
        }
    }

    private func part(_ items: [PrefetchItem], _ block: inout PrefetchFindings) async throws(KingfisherError) {
        var items = items
        if configuration.exporter != nil {
            for item in items where item.isExported {
                block.ended.append(PrefetchOutcome(item: item, ending: .skipped([])))
            }
            items.removeAll(where: \.isExported)
        }
        block.missing = await PrefetchWish.each(of: items, forms, manager, configuration.lock)
        var invalid = block.missing.compactMap { wish in
            wish.error.map { PrefetchOutcome(item: wish.item, ending: .failed($0)) }
        }
        if !invalid.isEmpty { block.missing.removeAll { $0.error != nil } }
        if let exporter = configuration.exporter, !invalid.isEmpty {
            invalid = await WorkerPool.exporting.run { [invalid] in invalid.map(exporter.export) }
        }
        block.ended += invalid
        block.isLookedUp = looksUp
        if looksUp { try await passOver(&block) }
    }

    /// Skips items that are cached in each of their forms. Marks those of the others that need no second look-up.
    private func passOver(_ block: inout PrefetchFindings) async throws(KingfisherError) {
        guard let cache = block.missing.cache else { return }
        let forms = forms
        let count = forms.count
        let moment = (forms[0].value.downloader ?? manager.downloader).moment
        let found = try await cache.look(for: block.missing.flatMap { $0.retrievals })
        // A copy of the options for each item would retain all of their parts.
        let options = forms[0].value
        let (fails, loads) = (options.alternativeSources.isEmpty, options.alsoPrefetchToMemory)
        var kept = 0
        block.ended.reserveCapacity(block.missing.count)
        for index in block.missing.indices {
            let seen = found.images[index * count..<(index + 1) * count]
            if let files = seen.freshFiles {
                if let error = block.missing[index].retrievals[0].refusal(of: files[0].entry.originalMeasures) {
                    block.ended.append(PrefetchOutcome(item: block.missing[index].item, ending: .failed(error)))
                    continue
                }
                if loads { await load(block.missing[index]) }
                block.ended.append(PrefetchOutcome(item: block.missing[index].item, ending: .skipped(files)))
                continue
            }
            let refusal = PrefetchWish.refusal(of: block.missing[index].retrievals, seen, now: cache.now)
            if let refusal, fails {
                cache.noteMiss()
                block.ended.append(PrefetchOutcome(item: block.missing[index].item, ending: .failed(refusal)))
                continue
            }
            if count == 1, refusal == nil, case .absent(let answer)? = seen.first,
                !block.missing[index].retrievals[0].needsLook
            {
                block.missing[index].asking = Asking(commits: found.commits, moment: moment, answer: answer)
                cache.noteMiss()
            }
            if kept != index { block.missing.swapAt(kept, index) }
            kept += 1
        }
        block.missing.removeLast(block.missing.count - kept)
    }

    /// Loads images from disk into memory by retrieving them.
    private func load(_ wish: PrefetchWish) async {
        for retrieval in wish.retrievals {
            // An image that cannot be read now still counts as skipped.
            _ = try? await manager.retrieveImage(with: retrieval.source, options: retrieval.options)
        }
    }
}

extension ArraySlice<ImageCache.Seen> {
    /// The files of all forms of an image; nil unless all are fresh.
    fileprivate var freshFiles: [StoredFile]? {
        guard case .fresh(let first)? = first else { return nil }
        var fresh = [first]
        for case .fresh(let file) in dropFirst() { fresh.append(file) }
        return fresh.count == count ? fresh : nil
    }
}
