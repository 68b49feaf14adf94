# SPDX-License-Identifier: Apache-2.0
# Completion of the weft command for bash.

_weft() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local command=${COMP_WORDS[1]} at
  local commands='run devices doctor status resource lab up down link lan sm policy service capture extend firewall serve wan wan-emulator'
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "$commands help --help --version" -- "$current")
    return
  fi
  case $command in
    run)
      # From the program's name on, its own completion.
      for ((at = 2; at < COMP_CWORD; at++)); do
        case ${COMP_WORDS[at]} in
          --) at=$((at + 1)); break ;;
          --wire | --interface | --capture | --ports | --socket-buffer | --fault | --keep-alive | \
            --cm-port)
            at=$((at + 1)) ;;
          -*) ;;
          *) break ;;
        esac
      done
      if ((at <= COMP_CWORD)) && [[ ${COMP_WORDS[at-1]} == -- || ${COMP_WORDS[at]} != -* ]] &&
        [[ $previous != --wire && $previous != --interface && $previous != --capture &&
          $previous != --ports && $previous != --socket-buffer && $previous != --fault &&
          $previous != --keep-alive && $previous != --cm-port ]]; then
        if declare -F _command_offset > /dev/null; then
          _command_offset "$at"
        else
          mapfile -t COMPREPLY < <(compgen -c -- "$current")
        fi
        return
      fi
      case $previous in
        --wire) mapfile -t COMPREPLY < <(compgen -W 'udp bare roce' -- "$current") ;;
        --interface)
          mapfile -t COMPREPLY < <(compgen -W "$(cd /sys/class/net && echo *)" -- "$current") ;;
        --capture) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        --ports | --socket-buffer | --fault | --keep-alive | --cm-port | --node | --lab) ;;
        *) mapfile -t COMPREPLY < <(compgen -W '--wire --interface --capture --stats --ports
             --socket-buffer --fault --keep-alive --cm-port --node --lab --help --' -- "$current") ;;
      esac
      ;;
    devices) mapfile -t COMPREPLY < <(compgen -W '--json --verbose --help' -- "$current") ;;
    doctor) mapfile -t COMPREPLY < <(compgen -c -W '--json --help' -- "$current") ;;
    status) mapfile -t COMPREPLY < <(compgen -W '--json --details --lab --help' -- "$current") ;;
    resource)
      if [[ $previous == show ]]; then
        mapfile -t COMPREPLY < <(compgen -W 'qp cq mr cm_id' -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -W 'show --json --details --help' -- "$current")
      fi
      ;;
    lab)
      if ((COMP_CWORD == 2)); then
        mapfile -t COMPREPLY < <(compgen -W 'fat-tree torus dragonfly line import check --help' -- "$current")
      elif [[ ${COMP_WORDS[2]} == import || ${COMP_WORDS[2]} == check ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -W '--size --hosts --name --help' -- "$current")
      fi
      ;;
    up)
      mapfile -t COMPREPLY < <(compgen -f -W '--name --part --sm --access --detach --help' -- \
        "$current") ;;
    down) mapfile -t COMPREPLY < <(compgen -W '--help' -- "$current") ;;
    link)
      case $previous in
        --role) mapfile -t COMPREPLY < <(compgen -W 'requester responder both' -- "$current") ;;
        --replay) mapfile -t COMPREPLY < <(compgen -W '1 2 3' -- "$current") ;;
        --capture | --svg) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        --lab) ;;
        *) mapfile -t COMPREPLY < <(compgen -W 'show up down degrade conform --role --capture
             --replay --svg --lab --json --help' -- "$current") ;;
      esac
      ;;
    lan)
      case $previous in
        --bridge) mapfile -t COMPREPLY < <(compgen -W 'auto on off' -- "$current") ;;
        --offloads) mapfile -t COMPREPLY < <(compgen -W 'on off' -- "$current") ;;
        --netns | --name | --mtu | --queues | --channels | --lab) ;;
        *) mapfile -t COMPREPLY < <(compgen -W 'show arp up down --netns --name --mtu --queues
             --channels --offloads --bridge --lab --json --help' -- "$current") ;;
      esac
      ;;
    sm)
      case $previous in
        --engine) mapfile -t COMPREPLY < <(compgen -W 'minhop updn ftree dor layered' -- "$current") ;;
        --partitions | --prefix-routes | --qos | --mkeys | --policies | --database) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        --lab | --node | --port | --priority | --lmc) ;;
        *) mapfile -t COMPREPLY < <(compgen -W 'status history topology metrics path explain run
             --lab --json --node --port --engine --priority --lmc --partitions --prefix-routes
             --qos --mkeys --mkey-protect --policies --database --once --help' -- "$current") ;;
      esac
      ;;
    policy)
      mapfile -t COMPREPLY < <(compgen -W 'list add delete drain restore explain log export save from= to= requester= service_id=
        pkey= sl= qos_class= through= answer= answer_sl= name= symmetric --before --save --lab --node --port --json --help' -- \
        "$current") ;;
    service)
      case $previous in
        --rules) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        --lab | --node | --set | --threads | --cores | --ports | --pair) ;;
        *) mapfile -t COMPREPLY < <(compgen -W 'run reload firewall monitor capture limiter balancer router --lab --json --node --rules --dry-run
             --set --threads --cores --ports --pair --help' -- "$current") ;;
      esac
      ;;
    capture)
      mapfile -t COMPREPLY < <(compgen -f -W 'mad data vl= sl= lid= slid= dlid= qp= --write --count
        --lab --help' -- "$current") ;;
    extend)
      case $previous in
        keygen | fingerprint) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        --distance | --per-metre | --equipment | --round-trip | --rate | --signalling | --vls | \
          --sites | --local-credit) ;;
        *) mapfile -t COMPREPLY < <(compgen -f -W 'keygen fingerprint --part --detach --plan --distance --per-metre --equipment
             --round-trip --rate --signalling --vls --sites --local-credit --json --help' -- \
             "$current") ;;
      esac
      ;;
    firewall)
      mapfile -t COMPREPLY < <(compgen -f -W 'check test --json --help' -- "$current")
      ;;
    serve)
      case $previous in
        --rules | --key | --certificate | --fingerprint) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        --listen | --set) ;;
        *) mapfile -t COMPREPLY < <(compgen -W 'firewall monitor capture limiter --listen --rules --dry-run --set
             --key --certificate --fingerprint --insecure --json --help' -- "$current") ;;
      esac
      ;;
    wan)
      case $previous in
        --from | --to | --count) ;;
        *) mapfile -t COMPREPLY < <(compgen -f -W 'encode decode explain --output --from --to --count --json
             --help' -- "$current") ;;
      esac
      ;;
    wan-emulator)
      case $previous in
        --settings) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        --path | --forward | --backward | --memory | --equipment | --interval) ;;
        *) mapfile -t COMPREPLY < <(compgen -W 'udp stream --path --forward --backward --settings
             --memory --equipment --interval --json --help' -- "$current") ;;
      esac
      ;;
    help) mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current") ;;
  esac
}
complete -F _weft weft
