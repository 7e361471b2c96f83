package collector

import (
	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func reservationsCollector() exposition.Collector {
	return exposition.Collector{
		Name: "reservations", Set: exposition.Native, Help: "advance reservations",
		Needs: []slurmclient.Resource{slurmclient.Reservations},
		Families: []exposition.Family{
			{Name: "slurm_reservation_info", Kind: exposition.Gauge,
				Help:   "Always 1; the labels show who may use the reservation and where.",
				Labels: []string{"reservation", "partition", "users", "accounts"},
				Values: readReservations(func(r *slurm.Reservation, out *exposition.Samples) {
					out.Add(1, r.Name, r.Partition, shortenText(r.Users), shortenText(r.Accounts))
				})},
			reservationFamily("slurm_reservation_start_time_seconds", "When the reservation starts, in Unix time.",
				func(r *slurm.Reservation, out *exposition.Samples) { out.AddTime(r.StartTime, r.Name) }),
			reservationFamily("slurm_reservation_end_time_seconds", "When the reservation ends, in Unix time.",
				func(r *slurm.Reservation, out *exposition.Samples) { out.AddTime(r.EndTime, r.Name) }),
			reservationFamily("slurm_reservation_nodes", "Nodes in the reservation.",
				func(r *slurm.Reservation, out *exposition.Samples) { out.AddCount(uint64(r.NodeCount), r.Name) }),
			reservationFamily("slurm_reservation_cores", "Cores in the reservation.",
				func(r *slurm.Reservation, out *exposition.Samples) { out.AddCount(uint64(r.CoreCount), r.Name) }),
		},
	}
}

func reservationFamily(name, help string, put func(r *slurm.Reservation, out *exposition.Samples)) exposition.Family {
	return exposition.Family{Name: name, Kind: exposition.Gauge, Help: help, Labels: []string{"reservation"},
		Values: readReservations(put)}
}

func readReservations(put func(r *slurm.Reservation, out *exposition.Samples)) func(*tally.View, *exposition.Samples) {
	return func(v *tally.View, out *exposition.Samples) {
		for _, r := range v.Reservations.Value {
			put(r, out)
		}
	}
}

func licensesCollector() exposition.Collector {
	license := func(name, help string, of func(l slurm.License) uint64) exposition.Family {
		return exposition.Family{Name: name, Kind: exposition.Gauge, Help: help, Labels: []string{"license", "nodes"},
			Values: func(v *tally.View, out *exposition.Samples) {
				for _, l := range v.Licenses.Value {
					out.AddCount(of(l), l.Name, l.Nodes)
				}
			}}
	}
	return exposition.Collector{
		Name: "licenses", Set: exposition.Native, Help: "licences, and hierarchical resources by layer",
		Needs: []slurmclient.Resource{slurmclient.Licenses},
		Families: []exposition.Family{
			license("slurm_license_capacity", "Total number of licences.",
				func(l slurm.License) uint64 { return l.Total }),
			license("slurm_license_used", "Licences in use by jobs.", func(l slurm.License) uint64 { return l.Used }),
			license("slurm_license_free", "Licences that are available to jobs.",
				func(l slurm.License) uint64 { return l.Free }),
			license("slurm_license_reserved", "Licences held by reservations.",
				func(l slurm.License) uint64 { return l.Reserved }),
		},
	}
}
