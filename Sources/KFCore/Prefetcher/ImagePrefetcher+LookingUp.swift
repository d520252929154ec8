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
            return try await part(items)
        } catch {
            return PrefetchFindings(untried: items, problem: error)
        }
    }

    private func part(_ all: [PrefetchItem]) async throws(KingfisherError) -> PrefetchFindings {
        let items = configuration.exporter == nil ? all : all.filter { !$0.isExported }
        let forms = await PrefetchCandidates.prepared(items, forms, manager)
        // On one thread: what it makes of an item is in the caches of its processor.
        var (found, cached) = try await manager.cache.blocking.run { [self] () throws(KingfisherError) in
            try sift(PrefetchCandidates(items, forms, manager, configuration.lock))
        }
        for retrieval in cached {
            // An image that cannot be read now still counts as skipped.
            _ = try? await manager.retrieveImage(with: retrieval.source, options: retrieval.options)
        }
        if let exporter = configuration.exporter {
            // Nothing is looked up for an export: only invalid items have ended.
            if !found.ended.isEmpty {
                found.ended = await WorkerPool.exporting.run { [ended = found.ended] in ended.map(exporter.export) }
            }
            for item in all where item.isExported {
                found.ended.append(PrefetchOutcome(item: item, ending: .skipped([])))
            }
        }
        return found
    }

    /// Skips items that are cached in each of their forms. Marks those of the others that need no second look-up. Returns also
    /// the retrievals of cached images to be loaded into memory. Blocks.
    private func sift(
        _ candidates: PrefetchCandidates
    ) throws(KingfisherError) -> (PrefetchFindings, cached: [Retrieval]) {
        var block = PrefetchFindings()
        block.isLookedUp = looksUp
        block.ended = candidates.invalid.map { PrefetchOutcome(item: $0.item, ending: .failed($0.error)) }
        guard looksUp, let cache = candidates.cache else {
            block.missing = candidates.items.indices.map(candidates.wish)
            return (block, [])
        }
        let moment = (forms[0].value.downloader ?? manager.downloader).moment
        let found = try cache.look(for: candidates.retrievals)
        var cached: [Retrieval] = []
        // A copy of the options for each item would retain all of their parts.
        let options = forms[0].value
        let (fails, loads) = (options.alternativeSources.isEmpty, options.alsoPrefetchToMemory)
        block.ended.reserveCapacity(block.ended.count + candidates.items.count)
        for index in candidates.items.indices {
            let places = candidates.places(index)
            if let files = found.images.freshFiles(places) {
                var ending = PrefetchOutcome.Ending.skipped(files)
                if let error = candidates.retrievals[places.lowerBound].refusal(of: files[0].entry.originalMeasures) {
                    ending = .failed(error)
                } else if loads {
                    cached += candidates.retrievals[places]
                }
                block.ended.append(PrefetchOutcome(item: candidates.items[index], ending: ending))
                continue
            }
            let seen = found.images[places]
            let refusal = PrefetchWish.refusal(of: candidates.retrievals[places], seen, now: cache.now)
            if let refusal, fails {
                cache.noteMiss()
                block.ended.append(PrefetchOutcome(item: candidates.items[index], ending: .failed(refusal)))
                continue
            }
            var wish = candidates.wish(index)
            if places.count == 1, refusal == nil, case .absent(let answer)? = seen.first, !wish.retrievals[0].needsLook
            {
                wish.asking = Asking(commits: found.commits, moment: moment, answer: answer)
                cache.noteMiss()
            }
            block.missing.append(wish)
        }
        return (block, cached)
    }
}

extension [ImageCache.Seen] {
    /// The files of all forms of an image; nil unless all are fresh.
    fileprivate func freshFiles(_ places: Range<Int>) -> [StoredFile]? {
        guard case .fresh(let first)? = places.isEmpty ? nil : self[places.lowerBound] else { return nil }
        var fresh = [first]
        if places.count == 1 { return fresh }
        for case .fresh(let file) in self[places].dropFirst() { fresh.append(file) }
        return fresh.count == places.count ? fresh : nil
    }
}
